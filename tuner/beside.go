package tuner

import (
	"context"
	"errors"
	"fmt"

	"autotune/space"
	"autotune/tuner/final"
)

var errNoTimes = errors.New("this device takes no times of a GPU")

// compare times the rivals beside the winner. One that is not there, or fails, costs a warning.
func (s *search) compare(ctx context.Context) {
	if s.Rivals == nil || s.err != nil || ctx.Err() != nil || s.field.Best() == nil {
		return
	}
	s.show(Beside)
	all, left, err := TimeBeside(ctx, s.subject(), s.field.Best().Configuration, s.Rivals)
	for _, text := range left {
		s.warn(text)
	}
	if err != nil && ctx.Err() == nil {
		s.warn(fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	times := map[string]float64{} // which recordings keep
	for _, b := range all {
		times[b.Name] = b.TimeMS
	}
	s.out.Baselines = append(s.out.Baselines, all...)
	s.out.Ceilings = withBaselines(s.out.Ceilings, times)
}

// TimeBeside times rivals in turns with a configuration of the subject's problem. left says which
// of them could not be timed, and what else there is to know.
func TimeBeside(ctx context.Context, s final.Subject, c space.Configuration, rivals final.Rivals) (all []Baseline, left []string, err error) {
	if !s.Device.Info().Kind.Properties().Measures {
		return nil, nil, errNoTimes
	}
	rival, err := rivals.Start(ctx, s.Problem, s.Protocol)
	if err != nil {
		return nil, nil, err
	}
	defer rival.Close()
	compared, err := final.Beside(ctx, s, c, rival)
	for _, one := range compared {
		all = append(all, Baseline{one.Name, one.TimeMS, one.Speedup, one.CI95})
	}
	return all, append(rival.Left(), rival.Advice(compared)...), err
}
