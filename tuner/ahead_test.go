package tuner

import (
	"testing"
	"time"
)

// As many configurations are at the compilers as it takes for one to be ready whenever a
// device is, with a margin; before anything is known, a few.
func TestCompilationsAnEvaluation(t *testing.T) {
	for want, b := range map[int]Breakdown{
		policy.aheadAtFirst: {},
		12:                  {Compile: 8 * time.Second, Verify: 250 * time.Millisecond, Measure: 750 * time.Millisecond},
		2:                   {Compile: time.Second, Measure: time.Second},
		1:                   {Compile: time.Millisecond, Measure: time.Second},
	} {
		if got := b.compilationsAnEvaluation(); got != want {
			t.Errorf("%+v: %d, want %d", b, got, want)
		}
	}
}
