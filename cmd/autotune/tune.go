package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/devices"
	"autotune/tuner/family"
	"autotune/tuner/store"
	"autotune/tuner/strategy"
)

func tuneCommand() *cli.Command {
	return &cli.Command{
		Name:      "tune",
		Usage:     "find a few kernels for many shapes, and the tree that chooses among them",
		ArgsUsage: "OPERATOR",
		Description: "Draws samples from the shapes, searches each, times every winner on every sample, and keeps the fewest that are nowhere much " +
			"slower than the shape's own best. Shapes that are held out tell what is lost. With --problems each problem of a file gets a kernel of its own, and " +
			"only shapes with ranges make families. The same command goes on where it was interrupted.",
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "shape", Usage: "`SHAPES` with ranges, as {1,8,32}x64x{14..112}x{14..112}; `autotune ops show OP` names the dimensions"},
			setFlag(), mathFlag(),
			&cli.StringFlag{Name: "problems", Usage: "instead, search each problem of a YAML or JSON `FILE`, the largest share first, and then tune those whose shape has ranges"},
			&cli.IntFlag{Name: "samples", Value: 20, Usage: "search `N` shapes, 64 at most"},
			&cli.IntFlag{Name: "held-out", Value: 10, Usage: "try what was found at `N` other shapes, 64 at most"},
			freeFlag(),
			&cli.Float64Flag{Name: "max-slowdown", Value: 1.1, Usage: "allow a kernel this `FACTOR` against a sample's own best"},
			&cli.DurationFlag{Name: "budget", Usage: "take about this `LONG` for a family, or with --problems for the whole run, as 10m; 0: no limit"},
			&cli.DurationFlag{Name: "time", Value: 3 * time.Second, Usage: "of one search, at most this `LONG`"},
		}, partFlags(), conditionFlags(), []cli.Flag{
			devicesFlag(), cacheFlag(), baselineFlag(),
			&cli.StringFlag{Name: "json", Aliases: []string{"o"}, Usage: "write the family to `FILE`, several as a list; - is standard output"},
			quietFlag(),
		}),
		Action: tuneAction,
	}
}

func tuneAction(c *cli.Context) (err error) {
	asked, err := tuneAsked(c)
	if err != nil {
		return err
	}
	o, err := tuneOptions(c)
	if err != nil {
		return err
	}
	if path := c.String("json"); path != "" {
		if err := output.Check(path); err != nil {
			return fmt.Errorf("--json %s: %w", path, err)
		}
	}
	opener, err := deviceOpener(c, devices.Options{Runs: true, Await: func(string) func() { return func() {} }}) // a family's line is there
	if err != nil {
		return err
	}
	var kept *store.Store
	defer func() {
		err = errors.Join(err, opener.Close())
		if kept != nil {
			err = errors.Join(err, kept.Close())
		}
	}()
	o.Store = sync.OnceValues(func() (*store.Store, error) {
		s, err := openStore(c, store.Options{})
		kept = s
		return s, err
	})
	found := &tuned{c: c, opener: opener, o: o}
	if err = found.all(asked); err != nil && len(found.families)+len(found.winners)+len(found.unsolved.rows) == 0 {
		return err
	}
	return errors.Join(err, found.unsolved.fault(err), badInput(writeShown(c, shown{
		json:  func(w io.Writer) error { return family.WriteJSON(w, append([]*family.Family{}, found.families...)) },
		table: found.write,
	})))
}

// tunePlan tunes one family, keeps it beside the cache, and forgets the way there.
func tunePlan(c *cli.Context, opener *devices.Opener, p family.Plan, o family.Options) (*family.Family, error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	cache, err := cachePath(c)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %v %v %v %v %v", p, p.Request, p.Samples, p.HeldOut, c.String("device"), o.Search.Conditions))
	if o.Run, err = batch.OpenRun(filepath.Join(dir, "runs"), fmt.Sprintf("tune-%s-%x", p.Operator.Name, key[:8])); err != nil {
		return nil, err
	}
	said := await(c, p.String())
	defer said.done()
	o.Progress = tuneProgress(c, p, said)
	f, err := family.Tune(c.Context, opener, p, o)
	if err != nil {
		return nil, deviceTrouble(err)
	}
	path := filepath.Join(familiesFolder(cache), fmt.Sprintf("%s-%x.json", p.Operator.Name, key[:8]))
	err = os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = output.To(path, func(w io.Writer) error { return family.WriteJSON(w, []*family.Family{f}) })
	}
	if err != nil {
		return nil, batch.Keeping(err)
	}
	return f, o.Run.Forget()
}

// familiesFolder is where the families of a cache are.
func familiesFolder(cache string) string { return cache + ".families" }

// tuneAsked reads what to tune: --problems, or an operator and shapes.
func tuneAsked(c *cli.Context) (l listed, err error) {
	planned := func(r batch.Request, shapes family.Shapes) ([]family.Plan, error) {
		w := tuneWish(c, r)
		w.Shapes = shapes
		plans, notice, err := w.Plans()
		if notice != "" {
			tell([]string{w.Operator.Name + ": " + notice})
		}
		return plans, err
	}
	if c.IsSet("problems") {
		if c.NArg() > 0 || c.IsSet("shape") || c.IsSet("set") || c.IsSet("math") {
			return l, errors.New("--problems names operators, shapes and parameters itself; leave OPERATOR, --shape, --set and --math away")
		}
		return readProblems(c, c.String("problems"), planned)
	}
	r, shapes, err := tuneShapes(c)
	if err == nil {
		l.plans, err = planned(r, shapes)
	}
	return l, err
}

// tuneShapes reads an operator, and shapes with ranges.
func tuneShapes(c *cli.Context) (r batch.Request, shapes family.Shapes, err error) {
	op, err := operatorArgument(c)
	if err != nil {
		return r, nil, err
	}
	text := c.String("shape")
	if text == "" {
		return r, nil, fmt.Errorf("%s needs --shape with ranges, as %s", op.Name, rangesOf(op.Example))
	}
	if shapes, err = family.ParseShapes(text); err != nil {
		return r, nil, fmt.Errorf("--shape: %w", err)
	}
	parameters, err := assignments("set", c.StringSlice("set"))
	if err != nil {
		return r, nil, err
	}
	r = batch.Request{Name: c.Args().First(), Operator: op}
	r.Parameters, r.Math = parameters, c.String("math")
	r.Only, err = restriction(c)
	return r, shapes, err
}

func tuneWish(c *cli.Context, r batch.Request) family.Wish {
	w := family.Wish{Name: r.Name, Operator: r.Operator, Request: r.Request, Samples: c.Int("samples"), HeldOut: c.Int("held-out"), Share: r.Share}
	if w.Free = freeOf(c); w.Free == nil {
		w.Free = r.Request.Free
	}
	return w
}

// rangesOf is an example of shapes around one.
func rangesOf(shape []int64) string {
	if len(shape) == 0 {
		return "{1..64}x{1..4096}"
	}
	var all family.Shapes
	for i, v := range shape {
		e := family.One(v)
		if i == 0 || i == len(shape)-1 && len(shape) > 2 {
			e = family.Extent{{Low: 1, High: max(v, 2)}}
		}
		all = append(all, e)
	}
	return all.String()
}

func tuneOptions(c *cli.Context) (family.Options, error) {
	o := family.Options{MaxSlowdown: c.Float64("max-slowdown"), Budget: c.Duration("budget"), Tool: tool()}
	o.Search = tuner.Options{Strategy: strategy.Default, Seed: 1, Budget: defaultBudget, Time: c.Duration("time"), Target: strategy.Target}
	o.Notice = func(text string) { tell([]string{text}) }
	switch {
	case !(o.MaxSlowdown >= 1 && o.MaxSlowdown <= 100) || math.IsNaN(o.MaxSlowdown):
		return o, fmt.Errorf("--max-slowdown %v: want a factor from 1 to 100, as 1.1", o.MaxSlowdown)
	case o.Budget < 0 || o.Search.Time <= 0:
		return o, errors.New("--budget takes a time that is not negative, and --time one above 0")
	}
	var err error
	o.Search.Conditions, err = conditionsOf(c)
	return o, err
}

// tuneProgress prints a line every few steps.
func tuneProgress(c *cli.Context, p family.Plan, said *awaited) func(family.Progress) {
	if c.Bool("quiet") {
		return nil
	}
	say(os.Stderr, fmt.Sprintf("%s: %s and %d held out", p, output.Count(len(p.Samples), "sample"), len(p.HeldOut)))
	last, known := time.Now(), 0
	return func(now family.Progress) {
		if now.Known {
			known++
		}
		parts := []string{fmt.Sprintf("%d/%d", now.Done, now.Of), now.Step}
		if known > 0 {
			parts = slices.Insert(parts, 1, fmt.Sprintf("(%d known from before)", known))
		}
		if now.Left > 0 {
			parts = append(parts, "ETA "+now.Left.Round(time.Second).String())
		}
		text := strings.Join(parts, "  ")
		said.now(p.String() + ": " + text)
		if said.out != nil {
			return
		}
		if now.Done == now.Of || time.Since(last) >= plainInterval {
			last = time.Now()
			say(os.Stderr, text)
		}
	}
}
