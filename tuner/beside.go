package tuner

import (
	"context"
	"errors"
	"fmt"

	"autotune/tuner/final"
)

var errNoTimes = errors.New("this device takes no times of a GPU")

// compare times the rivals beside the winner. One that is not there, or fails, costs a warning.
func (s *search) compare(ctx context.Context) {
	if s.Rivals == nil || s.err != nil || ctx.Err() != nil || s.field.Best() == nil {
		return
	}
	s.show(Beside)
	var all []final.Compared
	err := errNoTimes
	if s.can.Measures {
		all, err = s.beside(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.warn(fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	times := map[string]float64{} // which recordings keep
	for _, c := range all {
		times[c.Name] = c.TimeMS
		s.out.Baselines = append(s.out.Baselines, Baseline{c.Name, c.TimeMS, c.Speedup, c.CI95})
	}
	s.out.Ceilings = withBaselines(s.out.Ceilings, times)
}

func (s *search) beside(ctx context.Context) ([]final.Compared, error) {
	rival, err := s.Rivals.Start(ctx, s.problem, s.Protocol)
	if err != nil {
		return nil, err
	}
	defer rival.Close()
	for _, left := range rival.Left() {
		s.warn(left)
	}
	all, err := final.Beside(ctx, s.subject(), s.field.Best().Configuration, rival)
	for _, advice := range rival.Advice(all) {
		s.warn(advice)
	}
	return all, err
}
