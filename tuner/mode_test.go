package tuner_test

import (
	"autotune/device"
	"context"
	"errors"
	"testing"
	"time"

	"autotune/internal/test/toy"
	"autotune/tuner"
)

// The result says who chose the math mode, even if that becomes known only after the search began. The finals wait
// until PyTorch has chosen the math mode, and a search that ran in another mode than the chosen one ends.
func TestLateMode(t *testing.T) {
	otherMode := errors.New("another mode")
	for _, test := range []struct {
		name   string
		choice *device.ModeChoice // nil: the choice never comes, and the search is interrupted
		want   string
	}{
		{"the same", &device.ModeChoice{By: "as PyTorch does"}, "as PyTorch does"},
		{"another", &device.ModeChoice{Err: otherMode}, ""},
		{"none", nil, ""},
	} {
		for _, late := range []bool{false, true} {
			if test.choice == nil && !late {
				continue // nothing would interrupt the search
			}
			t.Run(test.name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				modes := make(chan device.ModeChoice, 1)
				answer := func() {
					if test.choice == nil {
						cancel()
					} else {
						modes <- *test.choice
					}
				}
				if !late {
					answer()
				}
				var waited, finals bool
				r, err := tuner.Search(ctx, toy.Problem(t, toyOperator, 64), &fakeDevice{Evaluate: bowl}, tuner.Options{
					Budget: 5, Strategy: "random", Mode: modes,
					Observe: func(p tuner.Progress) {
						if p.Phase == tuner.Waiting && !waited && late {
							waited = true
							time.AfterFunc(10*time.Millisecond, answer)
						}
						finals = finals || p.Phase == tuner.Finals
					},
				})
				switch {
				case waited != late:
					t.Errorf("waited: %v", waited)
				case test.choice == nil:
					if err != nil || r.Stop != tuner.Interrupted {
						t.Errorf("%v, %v", r, err)
					}
				case !errors.Is(err, test.choice.Err):
					t.Errorf("the error is %v", err)
				case err == nil && r.Record.Problem.MathBy != test.want:
					t.Errorf("%q; want %q", r.Record.Problem.MathBy, test.want)
				case finals != (err == nil):
					t.Errorf("finals: %v", finals)
				}
			})
		}
	}
}
