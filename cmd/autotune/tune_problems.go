package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/internal/lists"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/family"
)

// tuned is what was found so far.
type tuned struct {
	c        *cli.Context
	opener   *devices.Opener
	o        family.Options
	families []*family.Family
	winners  []bestconfig.Document
	unsolved unsolved
	last     error // why the last of these has none
}

// all searches problems and then tunes families, each in the order of its share. A failure ends none of the others. With
// --problems the budget is that of all of them.
func (t *tuned) all(asked listed) error {
	problems := len(asked.problems)
	shares := lists.Of(asked.problems, func(r batch.Request) float64 { return r.Share })
	weights := batch.Weights(append(shares, lists.Of(asked.plans, func(p family.Plan) float64 { return p.Share })...))
	searching := 0.0
	for _, w := range weights[:problems] {
		searching += w
	}
	var whole *batch.Budget
	if t.c.IsSet("problems") {
		whole = batch.NewBudget(t.o.Budget, 1, weights)
	}
	if problems > 0 {
		part, _ := whole.Next(searching)
		if err := t.search(asked.problems, part); err != nil {
			return err
		}
		whole.Done(part)
	}
	for i, p := range asked.plans {
		if err := t.tune(p, whole, weights[problems+i]); err != nil {
			return err
		}
	}
	if t.last != nil {
		return &batch.NotAllError{Last: t.last, Some: len(t.winners)+len(t.families) > 0}
	}
	return nil
}

// search searches each problem for a kernel of its own.
func (t *tuned) search(problems []batch.Request, part batch.Part) error {
	o := batch.Options{
		Search: t.o.Search, AnyTarget: true, Budget: part.Limit, Store: t.o.Store, Tool: t.o.Tool, Notice: t.o.Notice, Failed: t.failed,
		Found: func(r batch.Request, found *tuner.Result, best bestconfig.Document) error {
			t.unsolved.uncompared(r, found)
			if best.Found() {
				t.winners = append(t.winners, best)
			}
			return nil
		},
	}
	end, err := rivalsInto(t.c, &o.Search)
	if err != nil {
		return err
	}
	defer end()
	show := &shownSearches{c: t.c, all: newManyProgress(len(problems) == 1 || t.c.Bool("quiet"), len(problems))}
	o.With, o.Stands = show.search, show.all.print
	err = batch.Search(t.c.Context, t.opener, problems, o)
	var some *batch.NotAllError
	var interrupted *batch.InterruptedError
	switch {
	case err == nil || errors.As(err, &some): // each was told of
		return nil
	case batch.Ends(t.c.Context, err) || errors.As(err, &interrupted) || len(problems) > 1:
		return deviceTrouble(err)
	}
	t.failed(problems[0], err)
	return nil
}

func (t *tuned) failed(r batch.Request, err error) {
	if !errors.Is(err, batch.ErrNoTime) {
		t.last = deviceTrouble(err)
	}
	t.unsolved.failed(r, err)
}

// tune tunes one family, in its part of a budget.
func (t *tuned) tune(p family.Plan, whole *batch.Budget, weight float64) error {
	o := t.o
	part, ok := whole.Next(weight)
	if !ok {
		t.unsolved.add(p.String(), notSearched, batch.ErrNoTime)
		return nil
	}
	defer whole.Done(part)
	if whole != nil {
		o.Budget = part.Limit
	}
	f, err := tunePlan(t.c, t.opener, p, o)
	switch {
	case batch.Ends(t.c.Context, err) || err != nil && !t.c.IsSet("problems"):
		return err
	case err != nil:
		t.last = err
		t.unsolved.add(p.String(), statusOf(err), err)
	default:
		t.families = append(t.families, f)
	}
	return nil
}

// write writes the families, the winners of problems, and what went wrong.
func (t *tuned) write(w io.Writer) error {
	var err error
	for _, f := range t.families {
		err = errors.Join(err, f.WriteText(w))
	}
	parts := len(t.families)
	next := func() {
		if parts > 0 {
			fmt.Fprintln(w)
		}
		parts++
	}
	if len(t.winners) > 0 {
		next()
		err = errors.Join(err, reports.SummaryTable(w, t.winners, max(tableColumns, columnsOf(os.Stdout))))
	}
	if len(t.unsolved.rows) > 0 {
		next()
		err = errors.Join(err, t.unsolved.write(w))
	}
	return err
}
