package winners

import (
	"cmp"
	"slices"

	"autotune/device/trial"
	"autotune/tuner"
	"autotune/tuner/store"
)

// Era is the fastest of a problem's trials on a device with one driver, compiler and protocol. Its
// record holds only what was measured then.
type Era struct {
	tuner.Record
	Trials []trial.Trial // in order
}

// History lists the eras of a problem, as far as the cache has their trials, the oldest first. Of
// an era whose trials were timed again the fastest of these counts, as in a search.
func (r Request) History(s *store.Store) ([]Era, error) {
	kept, err := List(s, r.Operator.Name)
	if err != nil {
		return nil, err
	}
	if kept, err = r.among(kept); err != nil {
		return nil, err
	}
	var eras []Era
	seen := map[store.ProblemID]bool{}
	for _, w := range kept {
		if id := w.kept.Problem; !seen[id] {
			seen[id] = true
			entries, err := s.Entries(id, nil)
			if err != nil {
				return nil, err
			}
			eras = append(eras, w.eras(entries)...)
		}
	}
	slices.SortStableFunc(eras, func(a, b Era) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Device.Driver, b.Device.Driver), cmp.Compare(a.Device.Compiler, b.Device.Compiler))
	})
	return eras, nil
}

// eras lists the eras of a winner's problem on its device.
func (w Kept) eras(entries []store.Entry) (list []Era) {
	by := map[store.Provenance][]trial.Trial{}
	for _, e := range entries {
		p := e.Provenance
		p.KernelDigest = "" // an era has trials of many kernels
		by[p] = append(by[p], e.Trial)
	}
	for p, trials := range by {
		slices.SortStableFunc(trials, func(a, b trial.Trial) int { return a.At.Compare(b.At) })
		best := fastest(trials)
		if best == nil {
			continue
		}
		e := Era{Trials: trials, Record: tuner.Record{
			Problem: w.Record.Problem, Device: w.Device, Protocol: p.Protocol, Valid: w.Valid, Winner: best, Ceilings: w.Ceilings,
			At: trials[len(trials)-1].At, ReferenceDigest: p.ReferenceDigest,
		}}
		e.Device.Driver, e.Device.Compiler = p.Driver, p.Compiler
		e.Total, e.ByStatus = len(trials), map[trial.Status]int{}
		for _, t := range trials {
			e.ByStatus[t.Status]++
		}
		list = append(list, e)
	}
	return list
}

// fastest is the fastest of the correct trials that were timed most carefully.
func fastest(trials []trial.Trial) (best *trial.Trial) {
	finals := func(t trial.Trial) int {
		if t.FinalRounds > 0 {
			return 0
		}
		return 1
	}
	for i, t := range trials {
		if t.Status == trial.OK && (best == nil || cmp.Or(cmp.Compare(finals(t), finals(*best)), cmp.Compare(t.Time.Median, best.Time.Median)) < 0) {
			best = &trials[i]
		}
	}
	return best
}
