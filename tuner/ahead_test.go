package tuner

import "testing"

// As many configurations are at the compilers as it takes for one to be ready whenever a
// device is, with a margin; before anything is known, a few.
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
