package tuner_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/final"
)

// rival is a fake rival: it takes 0.1 ms or is absent, and it records the calls of its methods.
type rival struct {
	fails error
	asked []string
}

func (r *rival) Prepare(context.Context, *operator.Problem, device.Protocol) {
	r.asked = append(r.asked, "prepare")
}

func (r *rival) Start(context.Context, *operator.Problem, device.Protocol, func() string) (final.Rival, error) {
	r.asked = append(r.asked, "start")
	return r, r.fails
}
func (r *rival) Names() []string                               { return []string{"torch_eager"} }
func (r *rival) Left() []string                                { return nil }
func (r *rival) Outputs(string) *final.Outputs                 { return nil }
func (r *rival) Time(context.Context, string) (float64, error) { return 0.1, nil }
func (r *rival) Close() error                                  { return nil }

func speedupOver(r *tuner.Result, name string) float64 {
	at := slices.IndexFunc(r.Baselines, func(b tuner.Baseline) bool { return b.Name == name })
	if at < 0 {
		return 0
	}
	return r.Baselines[at].Speedup
}

// Rival programs prepare themselves while the search goes on. A search that finds the same winner again reuses the
// rivals' stored times, unless the user asked for them to be timed.
func TestRivalsOfASearch(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	search := func(unasked bool) (*rival, *tuner.Result) {
		t.Helper()
		beside := &rival{}
		r, err := tuner.Search(t.Context(), toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s, Rivals: beside, Unasked: unasked})
		if err != nil || speedupOver(r, "torch_eager") == 0 {
			t.Fatalf("%v: %v, %+v", unasked, err, r.Baselines)
		}
		return beside, r
	}
	for _, c := range []struct {
		unasked bool
		want    []string
	}{{true, []string{"prepare", "start"}}, {true, nil}, {false, []string{"start"}}} {
		if beside, _ := search(c.unasked); !slices.Equal(beside.asked, c.want) {
			t.Errorf("unasked %v: %q, want %q", c.unasked, beside.asked, c.want)
		}
	}
}

// If the user did not ask for rivals, a search does not mention rivals that are absent; it always mentions a rival that
// fails.
func TestRivalsThatAreNotThere(t *testing.T) {
	absent, fails := &final.AbsentError{Err: errors.New("python3 has no torch")}, errors.New("out of memory")
	for _, c := range []struct {
		err     error
		unasked bool
		want    string
	}{{absent, true, ""}, {absent, false, "python3 has no torch"}, {fails, true, "out of memory"}} {
		r := search(t, toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Rivals: &rival{fails: c.err}, Unasked: c.unasked})
		warned := strings.Join(r.Warnings, "; ")
		if has := strings.Contains(warned, "others were not timed beside the winner"); has != (c.want != "") || !strings.Contains(warned, c.want) {
			t.Errorf("%v, unasked %v: %q", c.err, c.unasked, warned)
		}
	}
}
