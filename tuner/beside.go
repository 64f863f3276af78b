package tuner

import (
	"context"
	"errors"
	"fmt"

	"autotune/internal/lists"
	"autotune/tuner/final"
)

// prepare has the rivals begin what takes long, while the search goes on.
func (s *search) prepare(ctx context.Context) {
	has := s.device.Info().Limits.MemoryBytes // 0: not known
	if s.Rivals != nil && s.can.Measures && (has == 0 || policy.besideRivals*s.problem.MemoryBytes() < has) {
		s.Rivals.Prepare(ctx, s.problem, s.Protocol)
	}
}

// compare times the rivals beside the winner. One that is not there, or fails, costs a warning.
func (s *search) compare(ctx context.Context) {
	if s.Rivals == nil || s.err != nil || ctx.Err() != nil || s.field.Best() == nil {
		return
	}
	if s.Unasked && (!s.can.Measures || s.compared()) {
		return
	}
	s.show(Beside)
	all, notes, err := final.Beside(ctx, s.subject(), s.field.Best().Configuration, s.Rivals)
	for _, text := range notes {
		s.warn(text)
	}
	var absent *final.AbsentError
	if err != nil && ctx.Err() == nil && !(s.Unasked && errors.As(err, &absent)) {
		s.uncompared = err
		s.warn(fmt.Sprintf("others were not timed beside the winner: %v", err))
	}
	s.addBaselines(all)
}

// addBaselines takes note of rivals' times, which recordings keep, too.
func (s *search) addBaselines(all []Baseline) {
	times := map[string]float64{}
	for _, b := range all {
		times[b.Name] = b.TimeMS
	}
	s.out.Baselines = append(s.out.Baselines, all...)
	s.out.Ceilings = withBaselines(s.out.Ceilings, times)
}

// compared tells whether an earlier search has timed rivals beside this winner, and takes what it found. A search that
// evaluates anything compares anew.
func (s *search) compared() bool {
	if s.began {
		return false
	}
	var record Record
	found, err := s.course.ledger.Winner(&record)
	if err != nil || !found || record.Winner == nil || record.Winner.KernelDigest != s.field.Best().KernelDigest {
		return false
	}
	before := lists.Where(record.Baselines, func(b Baseline) bool { return b.Speedup > 0 })
	s.addBaselines(before)
	return len(before) > 0
}
