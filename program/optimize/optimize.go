// Package optimize makes a PyTorch program faster: it reads the program's graph, searches the kernels of its regions,
// writes the program with them, and times both. What does not pay in the program is left out.
package optimize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/scratch"
	"autotune/operator"
	"autotune/pack/capture"
	"autotune/program"
	"autotune/reports/pytorch"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/devices"
)

// ErrNothing means that no kernel makes the program faster.
var ErrNothing = errors.New("no kernel makes the program faster, so there is nothing to write")

// Options are what Run needs to know beyond the program.
type Options struct {
	Operators []*operator.Operator
	Opener    *devices.Opener
	Search    func(problems int) (batch.Options, error)
	Untimed   bool // the program is written with all that was found, and not timed whole
	Tool      string
	Await     func(what string) (done func())
}

// Result is what became of a program.
type Result struct {
	File    string
	Plan    *program.Plan                // with the regions that are kept
	Winners map[string]cudasource.Winner // by the regions of the first plan
	Left    map[string]string            // why regions of the first plan have no kernel in the program
	Times   *capture.ProgramTimes        // nil: the program was not timed
	After   capture.Replacement          // of the plan
	Text    []byte                       // the file with ModelNew
}

// Run makes a program faster. The error is ErrNothing where no kernel does; the result tells why.
func Run(ctx context.Context, file string, o Options) (*Result, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, Result: Result{File: file, Winners: map[string]cudasource.Winner{}, Left: map[string]string{}}, source: string(source), time: timePlans}
	done := o.Await("reading the graph of " + filepath.Base(file))
	graph, err := capture.Graph(ctx, o.Tool, o.Operators, file)
	done()
	if err != nil {
		return nil, err
	}
	if r.Plan, err = program.NewPlan(graph, operator.Find); err != nil {
		return nil, err
	}
	if err := r.search(ctx); err != nil {
		return &r.Result, err
	}
	return &r.Result, r.choose(ctx)
}

type run struct {
	Options
	Result
	source string
	time   func(ctx context.Context, r *run, plans ...*program.Plan) error // timePlans, or a test's
}

// search finds a winner for each region. Regions with the same problem share one search.
func (r *run) search(ctx context.Context) error {
	regions := map[string][]string{}
	var problems []batch.Request
	for _, region := range r.Plan.Regions() {
		op := region.Problem.Operator
		q := batch.Request{Name: op.Name, Operator: op, Request: region.Request, Share: share(region.Problem)}
		if regions[q.String()] == nil {
			problems = append(problems, q)
		}
		regions[q.String()] = append(regions[q.String()], region.Name)
	}
	if len(problems) == 0 {
		return ErrNothing
	}
	o, err := r.Search(len(problems))
	if err != nil {
		return err
	}
	o.Found = func(q batch.Request, _ *tuner.Result, best bestconfig.Document) error {
		if !best.Found() {
			return nil
		}
		w, err := cudasource.Of(best, q.Operator, operator.TypicalLimits(), r.Tool)
		for _, name := range regions[q.String()] {
			r.Winners[name] = w
		}
		return err
	}
	o.Failed = func(q batch.Request, err error) {
		for _, name := range regions[q.String()] {
			r.Left[name] = err.Error()
		}
	}
	err = batch.Search(ctx, r.Opener, problems, o)
	var some *batch.NotAllError
	switch {
	case batch.Ends(ctx, err) || err != nil && !errors.As(err, &some) && len(r.Left) == 0:
		return err
	case len(r.Winners) == 0:
		return errors.Join(ErrNothing, err)
	}
	r.Plan, err = r.Plan.Without(lists.Where(lists.Of(r.Plan.Regions(), nameOf), func(name string) bool {
		_, found := r.Winners[name]
		return !found
	})...)
	return err
}

// share weighs a problem in the budget by about how long its kernel takes: it moves 4 GB and computes 100 GFLOP in a
// millisecond, as kernels on a data-centre GPU do.
func share(p *operator.Problem) float64 { return float64(p.Bytes)/4e9 + float64(p.Flops)/1e11 }

func nameOf(region *program.Region) string { return region.Name }

// choose keeps what pays in the program: all regions, or those that pay each by itself, or else the best of these.
func (r *run) choose(ctx context.Context) error {
	if r.Untimed || !r.timed() {
		text, err := r.write(r.Plan)
		r.Text = text
		return err
	}
	if err := r.time(ctx, r, r.Plan); err != nil || r.After.Pays() {
		return err
	}
	regions := lists.Of(r.Plan.Regions(), nameOf)
	if len(regions) == 1 {
		return ErrNothing
	}
	whole := r.Plan
	plans := []*program.Plan{whole}
	for _, name := range regions {
		alone, err := whole.Without(lists.Where(regions, func(other string) bool { return other != name })...)
		if err != nil {
			return err
		}
		plans = append(plans, alone)
	}
	if err := r.time(ctx, r, plans...); err != nil {
		return err
	}
	alone, best := r.Times.After[1:], 0
	var slow []string
	for i, name := range regions {
		if !alone[i].Pays() {
			slow = append(slow, name)
			r.Left[name] = "the program is not faster with it alone"
		} else if !alone[best].Pays() || alone[i].Faster > alone[best].Faster {
			best = i
		}
	}
	if len(slow) == len(regions) {
		return ErrNothing
	}
	together, err := whole.Without(slow...)
	if err != nil {
		return err
	}
	kept := []*program.Plan{together}
	if len(regions)-len(slow) > 1 {
		kept = append(kept, plans[1+best])
	}
	for _, r.Plan = range kept {
		if err := r.time(ctx, r, r.Plan); err != nil || r.After.Pays() {
			return err
		}
	}
	return ErrNothing
}

// timed reports whether the winners are of a GPU, which is this machine's, so that PyTorch can run on it, too.
func (r *run) timed() bool {
	for _, w := range r.Winners {
		return w.Best.Device.Kind == device.CUDA
	}
	return false
}

// timePlans times the program with each of the plans in turns. The first one's times are the result's.
func timePlans(ctx context.Context, r *run, plans ...*program.Plan) error {
	folder, err := scratch.New("optimize")
	if err != nil {
		return err
	}
	defer folder.Close()
	var files []string
	for i, p := range plans {
		text, err := r.write(p)
		if err != nil {
			return err
		}
		if i == 0 {
			r.Text = text
		}
		file := filepath.Join(folder.Dir, fmt.Sprintf("model_new_%d.py", i))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		files = append(files, file)
	}
	defer r.Await("timing the whole program")()
	r.Times, err = capture.TimeProgram(ctx, r.Tool, r.Operators, r.File, files...)
	if err == nil {
		r.After = r.Times.After[0]
	}
	return err
}

func (r *run) write(p *program.Plan) ([]byte, error) {
	var b bytes.Buffer
	err := pytorch.WriteProgram(&b, pytorch.Program{Plan: p, Winners: r.Winners, Source: r.source})
	return b.Bytes(), err
}
