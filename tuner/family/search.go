package family

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/final"
)

// searched is what the searches of a family found.
type searched struct {
	own   map[string]space.Configuration // winners made for a shape, by shape
	tried map[string][]tried             // correct configurations of a sample, by key: the fastest first
}

// tried is a configuration that a search found correct. Ratio is its time as so many times the fastest's.
type tried struct {
	space.Configuration
	Ratio float64
}

func key(shape []int64, dynamic bool) string { return fmt.Sprint(operator.FormatShape(shape), dynamic) }

func triedIn(r *tuner.Result) (all []tried) {
	ok := lists.Where(r.Trials, func(t trial.Trial) bool { return t.Status == trial.OK && t.Time.Median > 0 })
	slices.SortStableFunc(ok, func(a, b trial.Trial) int { return cmp.Compare(a.Time.Median, b.Time.Median) })
	for _, t := range ok {
		all = append(all, tried{t.Configuration, t.Time.Median / ok[0].Time.Median})
	}
	return all
}

// near are the configurations hardly slower than the fastest. Any of them may be the fastest at another shape.
func near(all []tried) []tried {
	n := slices.IndexFunc(all, func(t tried) bool { return t.Ratio > policy.nearBest })
	if n < 0 {
		n = len(all)
	}
	return all[:min(n, policy.mostNear)]
}

// remembers names what a search tried in the run.
func remembers(best bestconfig.Document) string {
	digest := sha256.Sum256(fmt.Appendf(nil, "%v %s", best.Problem, best.KernelDigest))
	return fmt.Sprintf("tried-%x", digest[:8])
}

// requests are the searches: samples for kernels that take the dynamic dimensions and shapes that are held out for
// their own best, in turns. Samples' own best come last: where a budget is short, they are left out.
func (p Plan) requests() (all []batch.Request) {
	add := func(shapes [][]int64, at int, dynamic bool) {
		if at < len(shapes) {
			all = append(all, batch.Request{Name: p.Name, Operator: p.Operator, Request: p.at(shapes[at], dynamic)})
		}
	}
	for i := range max(len(p.Samples), len(p.HeldOut)) {
		add(p.Samples, i, true)
		add(p.HeldOut, i, false)
	}
	for i := range p.Samples {
		add(p.Samples, i, false)
	}
	return all
}

func (t *tuning) search(ctx context.Context, opener *devices.Opener, found *searched) error {
	err := batch.Search(ctx, opener, t.plan.requests(), batch.Options{
		Search: t.Search, AnyTarget: true, Store: t.Store, Run: t.Run, Tool: t.Tool,
		With: func(ctx context.Context, _ batch.Request, on *devices.Opened, o tuner.Options, _ bool) (*tuner.Result, error) {
			return t.searchOne(ctx, on, o)
		},
		Known: func(best bestconfig.Document) error {
			var all []tried
			_, err := t.Run.Remembered(ctx, remembers(best), &all)
			if err == nil {
				t.take(found, best, all, true)
			}
			return err
		},
		Found: func(_ batch.Request, r *tuner.Result, best bestconfig.Document) error {
			if r.Stop == tuner.Interrupted || !best.Found() {
				return nil
			}
			all := triedIn(r)
			t.take(found, best, all, false)
			return t.Run.Remember(remembers(best), all)
		},
		Failed: func(r batch.Request, err error) {
			t.clock.step(t.kindOf(r.Shape, len(r.Free) > 0), operator.FormatShape(r.Shape)+" has no winner", false)
			t.leaveOut(r.Shape, err)
		},
	})
	var some *batch.NotAllError
	switch {
	case !errors.As(err, &some):
		return err
	case some.Some:
		return nil // other shapes have a winner
	}
	return t.noneLeft(" at any shape")
}

// searchOne searches a shape if there is time for that; its result is nil otherwise.
func (t *tuning) searchOne(ctx context.Context, on *devices.Opened, o tuner.Options) (*tuner.Result, error) {
	if info := on.Device.Info(); !info.Kind.Properties().Compiles {
		return nil, fmt.Errorf("%s runs no kernels, and a family is timed; use a GPU or the emulator", info.Name)
	}
	shape := on.Problem.Record().Shape
	of := t.kindOf(shape, len(on.Problem.Free) > 0)
	if t.clock.affords() {
		o.Time, o.Gating = t.clock.search(of, o.Time), final.GateNone // entries go through the gates
		return tuner.Search(ctx, on.Problem, on.Device, o)
	}
	if !has(t.plan.Samples, shape) {
		t.leftOut = append(t.leftOut, LeftOut{shape, "the budget has no time for a search of it, which tells its own best"})
	}
	t.clock.step(of, "no time to search "+operator.FormatShape(shape), true)
	return nil, nil
}

// take takes note of a search's winner, and of all that it tried.
func (t *tuning) take(found *searched, best bestconfig.Document, all []tried, known bool) {
	shape, dynamic := best.Problem.Shape, len(best.Problem.Free) > 0
	what := "searched " + operator.FormatShape(shape)
	if dynamic {
		what += " with " + strings.Join(best.Problem.Free, ", ") + " free"
	} else {
		found.own[operator.FormatShape(shape)] = best.Configuration
	}
	if has(t.plan.Samples, shape) {
		found.tried[key(shape, dynamic)] = all
	}
	t.clock.step(t.kindOf(shape, dynamic), what, known)
}

func (t *tuning) kindOf(shape []int64, dynamic bool) kind {
	if !dynamic && has(t.plan.Samples, shape) {
		return owns
	}
	return searches
}

// candidate is a kernel that takes the dynamic dimensions when it runs, and may be an entry.
type candidate struct {
	Entry
	formulas operator.Formulas // with Entry.Where, and what it names
	out      bool              // it failed somewhere
}

// serves tells whether the candidate, as compiled for the shape that it was found at, is correct for a problem.
func (c *candidate) serves(p *operator.Problem) bool {
	_, ok := c.formulas.At(p.Values)
	return ok && p.Admits(c.Configuration)
}

// gather lists the kernels that may be entries: what won the samples' searches, or was hardly slower. Each is compiled
// for all samples, in several kernels where one does not serve them all.
func (t *tuning) gather(ctx context.Context, found searched) (all []candidate, err error) {
	var problems []*operator.Problem
	for _, shape := range t.plan.Samples {
		s, err := t.subject(ctx, shape)
		if err != nil {
			return nil, err
		}
		problems = append(problems, s.Problem)
	}
	most := policy.mostConfigurations
	if t.Budget > 0 {
		affordable := int(t.clock.remaining()/policy.leastTiming) / len(t.plan.Samples)
		most = min(most, max(policy.leastConfigurations, affordable))
	}
	configurations := shortlist(t.plan, found, problems, most)
	kernels := make([][]candidate, len(configurations))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range configurations {
		group.Go(func() (err error) {
			kernels[i], err = kernelsOf(problems, c)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, some := range kernels {
		if len(all)+len(some) <= policy.mostCandidates {
			all = append(all, some...)
		}
	}
	if len(all) == 0 {
		return nil, t.noneLeft(": no sample has a kernel that takes %v when it runs", t.plan.Request.Free)
	}
	return all, nil
}

// shortlist are configurations of templates that can take the dynamic dimensions: the fastest of each search of a
// sample, then what came nearest to the fastest at the most samples.
func shortlist(plan Plan, found searched, samples []*operator.Problem, most int) []space.Configuration {
	var winners, others []space.Configuration
	worth := map[string]float64{}
	for i, p := range samples {
		for _, dynamic := range []bool{true, false} {
			usable := lists.Where(found.tried[key(plan.Samples[i], dynamic)], func(r tried) bool {
				template, known := plan.Operator.Template(r.Template)
				return known && containsAll(template.Free, plan.Request.Free) && p.Admits(r.Configuration)
			})
			for at, r := range near(usable) {
				if worth[r.Key()] += policy.nearBest - r.Ratio; at == 0 {
					winners = append(winners, r.Configuration)
				} else {
					others = append(others, r.Configuration)
				}
			}
		}
	}
	byWorth := func(a, b space.Configuration) int { return cmp.Compare(worth[b.Key()], worth[a.Key()]) }
	slices.SortStableFunc(others, byWorth)
	seen := map[string]bool{}
	all := lists.Where(append(winners, others...), func(c space.Configuration) bool {
		known := seen[c.Key()]
		seen[c.Key()] = true
		return !known
	})
	return all[:min(len(all), most)]
}

// kernelsOf are a configuration as it is compiled for problems: once for all that one kernel serves.
func kernelsOf(problems []*operator.Problem, c space.Configuration) (all []candidate, err error) {
	for _, p := range problems {
		served := slices.ContainsFunc(all, func(one candidate) bool { return one.serves(p) })
		if served || !p.Admits(c) {
			continue
		}
		one := candidate{Entry: Entry{Configuration: c, Shape: p.Record().Shape}}
		if one.formulas, err = p.Formulas(c); err != nil {
			return nil, err
		}
		one.Where = lists.Of(one.formulas.Where, func(f operator.Formula) string { return f.Text })
		all = append(all, one)
	}
	return all, nil
}
