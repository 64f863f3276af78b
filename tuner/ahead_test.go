package tuner

import "testing"

// Enough configurations are compiled at a time that one is ready whenever a device becomes free, plus a margin; before
// the first compilation has been timed, policy.aheadAtFirst configurations are compiled at a time.
func TestCompilationsAnEvaluation(t *testing.T) {
	for want, b := range map[int]Spent{
		policy.aheadAtFirst: {},
		12:                  {Compile: 8, Verify: 0.25, Measure: 0.75},
		2:                   {Compile: 1, Measure: 1},
		1:                   {Compile: 0.001, Measure: 1},
	} {
		if got := b.compilationsAnEvaluation(); got != want {
			t.Errorf("%+v: %d, want %d", b, got, want)
		}
	}
}
