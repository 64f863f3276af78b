package tuner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"autotune/internal/output"
	"autotune/space"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/final"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
	"autotune/tuner/trial"
)

// ErrNoVariant means that the search ended without one correct variant.
var ErrNoVariant = errors.New("no valid variant")

// search is one running Search.
type search struct {
	Options
	problem   *operator.Problem
	device    device.Device
	pool      device.Pool // the device, if it is several; nil: it is one
	can       device.Properties
	compiler  compile.Compiler // nil unless the device compiles
	space     *space.Space
	valid     int64  // configurations in the problem's whole space
	reference string // digest of what says what is right

	id         store.ProblemID
	provenance store.Provenance // of every trial, but for its kernel
	writer     *store.Writer    // nil: nothing is kept

	strategy strategy.Strategy
	first    []int64 // configurations evaluated before anything the strategy wants
	// untunedOf are the templates' default configurations.
	untunedOf []space.Configuration
	// startedFrom are the problems whose winners are among them.
	startedFrom []string
	account
	sharing
	looking
	started time.Time
	stop    Stop  // empty: goes on
	err     error // ended the search
	lost    error // ended it too: the store cannot keep trials

	stages    *stages
	held      map[int64]device.Variant // compiled, by configuration: those that the finals may need
	compiling int                      // configurations with the compilers
	ready     []job                    // compiled, waiting for the device
	conducts  map[int]*conduct         // of templates, by their part of the space
	onDevice  int                      // with the device, or next in its turn
	session   device.Session           // once it is open
	opened    bool                     // the device is ready, or failed to be
	dropped   bool                     // what is under way is not waited for, but for the device's job
	late      bool                     // far beyond its time without a winner: given up
	phase     Phase

	ceilings device.Ceilings
	final.Verdict
	warnings  []string
	breakdown Breakdown
	lead      Lead
}

// Search finds the fastest correct configuration of a problem on a device.
//
// Cancelling ctx ends the search early and is not an error: the Result says
// Interrupted and holds what was found so far. ErrNoVariant comes with a Result
// too, whose trials say what went wrong, and so does the error of a store that
// could not keep them: the search ends there. Any other error means that the
// device or the compiler could not go on.
func Search(ctx context.Context, p *operator.Problem, d device.Device, o Options) (*Result, error) {
	s, err := newSearch(ctx, p, d, o.withDefaults(p, d))
	if err != nil {
		return nil, err
	}
	if err := s.resume(); err != nil {
		return nil, err
	}
	s.openWriter()
	err = s.run(ctx)
	s.lose(s.closeWriter())
	s.release()
	if err != nil {
		return nil, err
	}
	r := s.result()
	if s.lost != nil {
		return r, s.lost
	}
	if r.Winner == nil {
		if r.Stop == Interrupted {
			return r, nil
		}
		if s.late {
			return r, fmt.Errorf("%s: %w within %v: %s; allow more time", p, ErrNoVariant, s.Time, s.lateness())
		}
		if right := r.ByStatus[trial.OK]; right > 0 {
			return r, fmt.Errorf("%s: %w: of none of the %d that are right is %s known, and above 0", p, ErrNoVariant, right, o.Objective.Name)
		}
		return r, fmt.Errorf("%s: %w among %d tried%s", p, ErrNoVariant, len(r.Trials), firstFailure(r.Trials))
	}
	return r, s.crown(r)
}

// lateness says what took so long.
func (s *search) lateness() string {
	if !s.opened {
		return "the operator's reference was still being computed"
	}
	return output.Count(len(s.Trials), "variant") + " evaluated, none of them right"
}

// firstFailure says why, for one of the trials.
func firstFailure(trials []trial.Trial) string {
	for _, t := range trials {
		if t.Message != "" {
			return fmt.Sprintf("; the first, of template %s, ended as %s: %s", t.Template, t.Status, t.Reason())
		}
	}
	return ""
}

func newSearch(ctx context.Context, p *operator.Problem, d device.Device, o Options) (*search, error) {
	sp, err := p.Space(ctx)
	var refused *operator.RequestError
	if errors.As(err, &refused) {
		return nil, err // it names the problem
	}
	if err != nil {
		return nil, fmt.Errorf("build the space of %s: %w", p, err)
	}
	if sp.Len() == 0 {
		return nil, fmt.Errorf("%s: %w: no configuration satisfies the constraints on this device", p, ErrNoVariant)
	}
	whole, err := wholeSpace(ctx, p, sp)
	if err != nil {
		return nil, err
	}
	reference, err := p.ReferenceDigest()
	if err != nil {
		return nil, fmt.Errorf("prepare the reference of %s: %w", p, err)
	}
	s := &search{
		Options: o, problem: p, device: d, can: d.Info().Kind.Properties(), compiler: d.Compiler(), space: sp, valid: whole.Len(), reference: reference,
		started: time.Now(), held: map[int64]device.Variant{}, conducts: map[int]*conduct{},
	}
	if err := checkObjective(o.Objective, p.Operator, s.can); err != nil {
		return nil, err
	}
	s.pool, _ = d.(device.Pool)
	s.provenance = provenanceOf(p, d, reference, o.Protocol)
	s.warnings = append(p.Warnings(), foreign(d, whole)...)
	s.id = store.ProblemID{Problem: p.String(), Device: d.Info().Name, Kind: d.Info().Kind, Conditions: o.Protocol.Conditions, Objective: o.Objective.String()}
	start, from, err := s.warmStart()
	if err != nil {
		return nil, err
	}
	s.untunedOf = p.Defaults(ctx)
	defaults := s.defaults()
	s.first, s.startedFrom = slices.Concat(defaults, start), from
	if s.can.Compiles && s.can.Caveat == "" && !s.Recheck { // estimates are of a GPU
		likely, err := s.likely()
		if err != nil {
			return nil, err
		}
		s.first = afterLikely(likely, s.first)
	}
	baseline := int64(-1)
	if len(defaults) > 0 {
		baseline = defaults[0]
	}
	s.account = account{Field: final.NewField(scaleOf(p, o.Objective), baseline, s.untunedOf), begun: map[int64]int{}}
	s.sharing = sharing{known: map[string]bool{}}
	if err := s.chooseStrategy(); err != nil {
		return nil, err
	}
	return s, nil
}

// wholeSpace holds all configurations of a problem, of which sp may be a part.
func wholeSpace(ctx context.Context, p *operator.Problem, sp *space.Space) (*space.Space, error) {
	if !p.Restricted() {
		return sp, nil
	}
	whole, err := p.Whole().Space(ctx)
	if err != nil {
		return nil, fmt.Errorf("build the space of %s: %w", p, err)
	}
	return whole, nil
}

// chooseStrategy makes the strategy that was asked for. A recording is by default
// walked as it was recorded: its own search found its own best.
func (s *search) chooseStrategy() (err error) {
	if r, ok := s.device.(device.Recorded); ok && s.Strategy == strategy.Default {
		walk := newRecorded(s.space, r.Configurations())
		s.Strategy, s.strategy = recordedOrder, walk
		if s.Budget == 0 || s.Budget > len(walk.left) {
			s.Budget = len(walk.left)
		}
		return nil
	}
	s.strategy, err = strategy.New(s.Strategy, s.space, strategy.Options{Seed: s.Seed, Budget: s.Budget})
	return err
}

// workers is how many compilations run side by side.
func (s *search) workers() int {
	if !s.can.Compiles {
		return 1
	}
	return min(max(1, s.compiler.Workers()), mostCompilations)
}

// devices is how many evaluate side by side.
func (s *search) devices() int {
	if s.pool == nil {
		return 1
	}
	return min(max(1, len(s.pool.Workers())), device.MostWorkers)
}

// share is how many jobs the devices have at once.
func (s *search) share() int { return deviceShare * s.devices() }

// lookahead is how many configurations may be under way: enough that the
// devices never wait for a compiler, and one when nothing is compiled, which
// makes a replayed search repeatable to the last trial.
func (s *search) lookahead() int {
	if !s.can.Compiles {
		return 1
	}
	most := 2*s.workers() + s.share() - 1
	if s.pool == nil {
		return most
	}
	return min(most, s.share()+s.devices()*(1+s.compilationsAnEvaluation()))
}

// What many devices ask ahead: the strategy knows less the more configurations are under way,
// so it is asked for no more than keep all devices busy (docs/distributed.md).
const (
	aheadAtFirst = 8   // compilations a device before anything is known
	aheadMargin  = 1.5 // since no two compilations take as long
)

// compilationsAnEvaluation is how many configurations have to be at the compilers for one
// to be ready whenever a device has evaluated another.
func (s *search) compilationsAnEvaluation() int {
	evaluating := s.breakdown.Verify + s.breakdown.Measure
	if evaluating == 0 {
		return aheadAtFirst
	}
	return int(math.Ceil(aheadMargin * float64(s.breakdown.Compile) / float64(evaluating)))
}

// defaults are the indexes of the templates' default configurations.
func (s *search) defaults() []int64 {
	var ids []int64
	for _, c := range s.untunedOf {
		if id, ok := s.space.Index(c); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func (s *search) result() *Result {
	r := &Result{Problem: s.problem, Trials: s.Trials}
	r.Record = Record{
		Problem: s.problem.Record(), Device: s.device.Info(), Protocol: s.Protocol, Objective: s.Objective.String(), Strategy: s.Strategy,
		Valid: s.valid, Part: s.problem.Restriction.String(), ByStatus: s.ByStatus, Total: len(s.Trials), Resumed: s.resumed, Ceilings: s.ceilings,
		ReferenceDigest: s.reference, Gates: s.Gates, Confirmation: s.Confirmation, Breakdown: s.breakdown, Lead: s.lead, Stop: s.stop, Outlook: s.outlook, StartedFrom: s.startedFrom, Warnings: s.warnings, At: time.Now().UTC(),
	}
	if r.Part != "" {
		r.Warnings = append(r.Warnings, fmt.Sprintf("only part of the space was searched, %d of %d configurations: %s", s.space.Len(), s.valid, r.Part))
	}
	if winner, ties := s.Decide(); winner != nil {
		r.Winner = winner
		if len(ties) > 1 {
			r.Ties = ties
		}
		if s.Gates == nil && s.can.Compiles && s.Gating == final.GateWinner {
			r.Warnings = append(r.Warnings, "the search ended before its winner was put through the gates")
		}
		r.Warnings = append(r.Warnings, trial.Lines(r.Winner.Warnings)...)
		if s.can.Caveat == "" {
			r.Warnings = append(r.Warnings, trial.Lines(r.Winner.Time.Warnings())...)
			if apart := s.Confirmation.Apart(*r.Winner); apart != "" {
				r.Warnings = append(r.Warnings, apart)
			}
		}
	}
	if s.can.Caveat == "" && final.Timed(s.Protocol) {
		r.Doubts = trial.Gather(s.Trials)
	}
	if err := compile.CacheProblem(s.compiler); err != nil {
		r.Warnings = append(r.Warnings, err.Error())
	}
	if t := s.Untuned(); t != nil && t.Status == trial.OK {
		r.Default = t
	}
	r.Record.Baselines = s.baselines(r.Default)
	return r
}

// baselines are the times that the winner is compared with, those known.
func (s *search) baselines(untuned *trial.Trial) []Baseline {
	var all []Baseline
	add := func(name string, ms float64) {
		if ms > 0 {
			all = append(all, Baseline{name, ms})
		}
	}
	if untuned != nil {
		add("default", untuned.Time.Median)
	}
	add("reference", s.ceilings.ReferenceMS)
	for _, name := range slices.Sorted(maps.Keys(s.ceilings.Baselines)) {
		add(name, s.ceilings.Baselines[name])
	}
	return all
}

// elsewhere are the baselines that this search did not measure: those that a
// recording brings, and those that the caller gives.
func (s *search) elsewhere() map[string]float64 {
	all := map[string]float64{}
	maps.Copy(all, s.ceilings.Baselines)
	maps.Copy(all, s.Baselines)
	return all
}
