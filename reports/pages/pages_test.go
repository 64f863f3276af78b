package pages

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/operator"
)

// The first sentence about a showcase says what profiles found (the kernels' READMEs): pools and
// depthwise convolutions are limited by memory, and for conv2d memory and the L2 are near their limits.
func TestShowcasesExplained(t *testing.T) {
	known := Known{Peaks: func(device.Info) device.Peaks { return nil }, Operator: operator.Find}
	pools, err := filepath.Glob("../../recordings/h100-*.json.gz")
	if err != nil || len(pools) < 4 {
		t.Fatal(pools, err)
	}
	convolutions, err := filepath.Glob("../../recordings/h200-conv2d-*.json.gz")
	if err != nil || len(convolutions) < 2 {
		t.Fatal(convolutions, err)
	}
	for _, file := range slices.Concat(pools, convolutions) {
		s, err := known.Recording(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		want := "it is limited by memory"
		if s.Best.Operator == "conv2d" {
			want = "it is close to memory-bound, but not limited by memory alone"
		}
		if len(s.Why.Sentences) == 0 || !strings.Contains(s.Why.Sentences[0], want) {
			t.Errorf("%s: %q, want %q", s.Best.Problem.Text, s.Why.Sentences, want)
		}
	}
}
