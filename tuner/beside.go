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
	all, notes, err := TimeBeside(ctx, s.subject(), s.field.Best().Configuration, s.Rivals)
	for _, text := range notes {
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

// TimeBeside times rivals in turns with a configuration of the subject's problem, and compares outputs. notes say
// which of them could not be timed, whose outputs differ, and what else there is to know.
func TimeBeside(ctx context.Context, s final.Subject, c space.Configuration, rivals final.Rivals) (all []Baseline, notes []string, err error) {
	if !s.Device.Info().Kind.Properties().Measures {
		return nil, nil, errNoTimes
	}
	compared, notes, err := final.Beside(ctx, s, c, rivals)
	for _, one := range compared {
		all = append(all, Baseline{one.Name, one.TimeMS, one.Speedup, one.CI95, one.Outputs})
	}
	return all, notes, err
}
