package bestconfig

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"autotune/device/recording"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner"
)

// FromRecording names the same winner, with the same evidence, as a replay of the recording.
func TestFromRecordingIsAReplay(t *testing.T) {
	entries, err := recording.List(recording.Shipped())
	if err != nil || len(entries) == 0 {
		t.Fatal(len(entries), err)
	}
	for _, e := range entries[:min(4, len(entries))] {
		t.Run(e.Name, func(t *testing.T) {
			r, err := recording.LoadFS(recording.Shipped(), e.Name)
			must.OK(t, err)
			op, err := operator.Find(r.Metadata.Problem.Operator)
			must.OK(t, err)
			// Templates that were added to the operator after the recording was made cannot win, since the recording
			// has no trials of them.
			request := r.Metadata.Problem.Request()
			var only operator.Restriction
			for _, trial := range r.Trials {
				if !slices.Contains(only.Templates, trial.Configuration.Template) {
					only.Templates = append(only.Templates, trial.Configuration.Template)
				}
			}
			p, err := op.Bind(request, r.Metadata.Device.Limits)
			must.OK(t, err)
			got, _, err := FromRecording(r, p)
			must.OK(t, err)
			result, err := tuner.Search(t.Context(), p, recording.Replay(r), tuner.Options{Only: only})
			must.OK(t, err)
			want := FromRecord(result.Record)
			if recording.Key(got.Configuration) != recording.Key(want.Configuration) {
				t.Errorf("won by %s, want %s", got.Configuration, want.Configuration)
			}
			if want.KernelDigest[:len(got.KernelDigest)] != got.KernelDigest {
				t.Errorf("of the kernel %s, want %s", got.KernelDigest, want.KernelDigest)
			}
			got.Configuration, got.Macros, got.Launches, got.KernelDigest = want.Configuration, want.Macros, want.Launches, want.KernelDigest
			got.Search = want.Search
			// A replay warns about templates that were left out or have changed, but the document of the recording does
			// not.
			want.Warnings = slices.DeleteFunc(want.Warnings, func(w string) bool {
				return strings.Contains(w, "edited since") || strings.Contains(w, "only part of the space")
			})
			if got, want := written(t, got), written(t, want); !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
