package tuner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/tuner/device"
	"autotune/tuner/trial"
)

// What the finals go by.
const (
	finalRounds     = 3  // of a leader that nothing reaches
	tiedFinalRounds = 6  // of one that something does
	mostFinalists   = 16 // in a round
	finalsShare     = 5  // one part in so many of the search's time, or
	leastFinals     = time.Second
)

// energyWorthwhile is how long a search must have taken for its winner's energy
// to be measured unasked: that takes 0.6 s, a tenth of it.
const energyWorthwhile = 6 * time.Second

// finals make sure of the winner. The fastest of hundreds of noisy medians is
// partly the luckiest; so all whose interval reaches the leader's are timed
// again, in rounds of random order, interleaved, until the leader is apart or the
// tie stands. What the search had measured of them no longer counts. The untuned
// default takes part in at least one round, so that it is timed as the winner is.
type finals struct {
	*search
	variants map[int64]device.Variant // compiled
	rounds   map[int64]int            // of this search's finals, by configuration
	passed   map[int64]*Gates         // what configurations were put through
	filled   device.Inputs            // what the session's inputs are now
	place    *place                   // where all of it is
	// confirmed are those that a second worker was asked about.
	confirmed map[int64]bool
	random    *rand.Rand
	started   time.Time
	limit     time.Duration
}

// settleWinner runs the finals and the gates; it leaves the trials such that
// decide names the winner.
func (s *search) settleWinner(ctx context.Context) error {
	if !s.can.Compiles || s.best < 0 {
		return nil
	}
	s.show(Finals)
	start := time.Now()
	first := s.best
	defer func() {
		s.breakdown.Finals = time.Since(start)
		if s.timed() {
			s.lead.FinalMS = s.trials[first].Time.Median
		}
	}()
	if s.timed() {
		s.lead = Lead{Leader: s.trials[first].Configuration, SearchMS: s.bestMS()}
	}
	f := &finals{
		search: s, variants: s.held, passed: map[int64]*Gates{}, confirmed: map[int64]bool{},
		random: rand.New(rand.NewPCG(s.Seed, 0)), started: start,
		limit: max(leastFinals, time.Since(s.started)/finalsShare),
	}
	if s.Time > 0 {
		f.limit = min(f.limit, s.reserve()/4)
	}
	for {
		err := f.settle(ctx)
		// What was timed on a worker that is gone is timed anew on another.
		if !errors.Is(err, device.ErrGone) || s.pool == nil || len(s.pool.Workers()) == 0 {
			return err
		}
	}
}

// settle does all of it in one place.
func (f *finals) settle(ctx context.Context) (err error) {
	if f.place, err = f.takePlace(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.place.close()) }()
	f.rounds, f.filled = map[int64]int{}, f.Protocol.Inputs()
	if f.Gating == GateAll {
		return f.gateAll(ctx)
	}
	energy := f.timed() && (f.Energy || time.Since(f.search.started) >= energyWorthwhile)
	for {
		if err := f.play(ctx); err != nil {
			return err
		}
		id, ok := f.decided()
		if !ok {
			return nil
		}
		if f.gates, ok = f.passed[id]; !ok && f.Gating == GateWinner {
			if err := f.gate(ctx, id); err != nil {
				return err
			}
			continue
		}
		if !f.confirmed[id] {
			if err := f.confirm(ctx, id); err != nil {
				return err
			}
			continue
		}
		if !energy {
			return nil
		}
		energy = false
		if err := f.time(ctx, id, true); err != nil {
			return err
		}
	}
}

// timed tells whether the search takes times that are worth a comparison.
func (s *search) timed() bool { return s.Protocol.Samples > 1 }

// decided is the configuration of the winner.
func (s *search) decided() (int64, bool) {
	winner, _ := s.decide()
	if winner < 0 {
		return 0, false
	}
	return s.outcomes[winner].ID, true
}

// play times finalists until none needs another round. When its time is up it
// goes on only until the leader itself has been timed.
func (f *finals) play(ctx context.Context) error {
	for f.timed() {
		leader, ok := f.leader()
		if !ok || f.rounds[leader] > 0 && time.Since(f.started) > f.limit {
			return nil
		}
		round := f.round(leader)
		if len(round) == 0 {
			return nil
		}
		if err := f.compileAll(ctx, round); err != nil {
			return err
		}
		f.random.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		for _, id := range round {
			if err := f.time(ctx, id, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// round lists the configurations to be timed next.
func (f *finals) round(leader int64) []int64 {
	reaching := f.reaching()
	most := finalRounds
	if len(reaching) > 1 {
		most = tiedFinalRounds
	}
	if t := f.trials[max(f.untuned, 0)]; f.untuned >= 0 && t.Status == trial.OK && f.rounds[f.baseline] == 0 && !slices.Contains(reaching, f.baseline) {
		reaching = append(reaching, f.baseline)
	}
	return slices.DeleteFunc(reaching, func(id int64) bool { return f.rounds[id] >= most })
}

// reaching are the configurations whose interval reaches the leader's, fastest
// first, as many as there is time to tell apart.
func (f *finals) reaching() []int64 {
	var all []int
	leader := f.bestStands()
	medians := map[int]float64{}
	for i, t := range f.trials {
		if stands, ok := f.search.standing(t); ok && stands.Reaches(leader) {
			all, medians[i] = append(all, i), stands.Median
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(medians[a], medians[b]) })
	var ids []int64
	left := f.limit
	for _, i := range all[:min(len(all), mostFinalists)] {
		p := f.trials[i].Phases
		if left -= milliseconds(p.VerifyMS+p.MeasureMS) * finalRounds; left < 0 && len(ids) > 1 {
			break
		}
		ids = append(ids, f.outcomes[i].ID)
	}
	return ids
}

// hold keeps a finished job's binary if the finals may need it.
func (s *search) hold(j job) {
	if j.variant.Binary == nil || j.trial.Status != trial.OK {
		return
	}
	behind := func(id int64, t trial.Trial) bool {
		stands, ok := s.standing(t)
		return id != s.baseline && !(ok && stands.Reaches(s.bestStands()))
	}
	if s.best < 0 || behind(j.id, j.trial) {
		return
	}
	s.held[j.id] = j.variant
	if leader, _ := s.leader(); leader == j.id { // only then may others be behind now
		maps.DeleteFunc(s.held, func(id int64, _ device.Variant) bool { return behind(id, *s.trialOf(id)) })
	}
}

// compileAll compiles those configurations whose binaries the search did not
// hold, side by side. One that does not compile now has failed.
func (f *finals) compileAll(ctx context.Context, ids []int64) error {
	missing := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { _, held := f.variants[id]; return held })
	jobs := make([]job, len(missing))
	var group errgroup.Group
	group.SetLimit(f.workers())
	for i, id := range missing {
		group.Go(func() error {
			jobs[i] = f.prepare(ctx, f.stages, id)
			return jobs[i].err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, j := range jobs {
		f.variants[j.id] = j.variant
		if j.variant.Binary == nil {
			f.change(j.id, func(t *trial.Trial) { t.Fail(j.trial.Status, "in the finals: "+j.trial.Message) })
		}
	}
	return ctx.Err()
}

// variant is a configuration compiled; not ok if it does not compile.
func (f *finals) variant(ctx context.Context, id int64) (v device.Variant, ok bool, err error) {
	err = f.compileAll(ctx, []int64{id})
	v = f.variants[id]
	return v, v.Binary != nil, err
}

// time verifies and times a configuration once more. The first time, the search's
// own samples of it are dropped. One that fails now has failed.
func (f *finals) time(ctx context.Context, id int64, energy bool) error {
	v, ok, err := f.variant(ctx, id)
	if err != nil || !ok {
		return err
	}
	v.Energy, v.Look = energy || v.Energy, len(f.rounds) == 0
	j := f.evaluateAt(f.place, job{id: id, variant: v})
	if j.err != nil {
		return j.err
	}
	if j.outcome.Status != trial.OK {
		j.outcome.Message = "in the finals: " + j.outcome.Message
	}
	first := f.rounds[id] == 0
	f.rounds[id]++
	f.change(id, func(t *trial.Trial) {
		if first {
			t.SetSamples(nil, 0)
			t.Warnings = nil
		}
		t.Join(j.outcome)
		t.FinalRounds = f.rounds[id]
		t.Dropped = false
	})
	return nil
}

// change amends a trial and keeps it so.
func (f *finals) change(id int64, change func(*trial.Trial)) {
	f.lose(f.keep(f.amend(id, change)))
}
