package tuner_test

import (
	"path/filepath"
	"strings"
	"testing"

	"autotune/device"
	"autotune/tuner"
	"autotune/tuner/winners"
)

// A search under new timing conditions makes its own trials, starts from the winner under the old conditions, and does
// not replace that winner in the cache.
func TestConditionsAreApart(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "cache.db"))
	search := func(c device.Conditions) *tuner.Result {
		t.Helper()
		r := search(t, toyProblem(t), &fakeDevice{Evaluate: bowl}, tuner.Options{Store: s, Conditions: c})
		return r
	}
	usual, warm := device.Conditions{}, device.Conditions{L2: device.Warm}
	search(usual)
	r := search(warm)
	if r.Resumed != 0 || r.Protocol.Conditions != warm {
		t.Errorf("%d of the usual trials resumed, protocol %+v", r.Resumed, r.Protocol)
	}
	if len(r.StartedFrom) != 1 || !strings.HasSuffix(r.StartedFrom[0], " (cold L2, direct launches)") {
		t.Errorf("started from %q", r.StartedFrom)
	}
	for _, c := range []device.Conditions{usual, warm} {
		if r := search(c); r.Resumed != 14 || len(r.StartedFrom) != 1 {
			t.Errorf("%s: %d resumed, started from %q", c, r.Resumed, r.StartedFrom)
		}
	}
	kept, err := winners.List(s, "toy")
	if err != nil || len(kept) != 2 || kept[0].Protocol.Conditions == kept[1].Protocol.Conditions {
		t.Errorf("winners %+v, %v", kept, err)
	}
}
