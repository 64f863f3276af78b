package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/devices"
	"autotune/tuner/family"
)

// tunePlans are the families of wishes, and the problems of a list that are in none. Both begin
// with the largest share of a program's time.
func tunePlans(wishes []family.Wish) (plans []family.Plan, alone []batch.Request, err error) {
	for _, w := range wishes {
		more, notice, err := w.Plans()
		var none *family.NoFamilyError
		if err != nil && (w.Listed == nil || !errors.As(err, &none)) {
			return nil, nil, err
		}
		if notice != "" {
			tell([]string{w.Operator.Name + ": " + notice})
		}
		plans = append(plans, more...)
		for _, shape := range w.Alone(more) {
			r := batch.Request{Name: w.Name, Operator: w.Operator, Request: w.Request, Share: w.Share}
			r.Shape, r.Free = shape, nil
			alone = append(alone, r)
		}
	}
	if len(alone) > 0 {
		tell([]string{output.Count(len(alone), "problem") + " in no family: each is searched by itself"})
	}
	return plans, alone, nil
}

// tuned is what was found so far.
type tuned struct {
	c        *cli.Context
	opener   *devices.Opener
	o        family.Options
	page     *watched
	families []*family.Family
	winners  []reports.BestConfig // of problems in no family
	failed   error                // why the last of these without a winner has none
}

// all tunes families and searches other problems, in the order of their share.
func (t *tuned) all(plans []family.Plan, alone []batch.Request) error {
	for len(plans)+len(alone) > 0 {
		if len(plans) > 0 && (len(alone) == 0 || plans[0].Share >= alone[0].Share) {
			f, err := tunePlan(t.c, t.opener, plans[0], t.o, t.page)
			if err != nil {
				return err
			}
			t.families, plans = append(t.families, f), plans[1:]
			continue
		}
		if err := t.search(alone[0]); err != nil {
			return err
		}
		alone = alone[1:]
	}
	return nil
}

// search searches a problem by itself. One without a winner does not keep the others from theirs.
func (t *tuned) search(r batch.Request) error {
	err := batch.Search(t.c.Context, t.opener, []batch.Request{r}, batch.Options{
		Search: t.o.Search, AnyTarget: true, Store: t.o.Store, Tool: t.o.Tool, Notice: t.o.Notice,
		Found: func(_ batch.Request, _ *tuner.Result, best reports.BestConfig) error {
			if best.Found() {
				t.winners = append(t.winners, best)
				if !t.c.Bool("quiet") {
					say(os.Stderr, best.Problem.Text+": "+reports.FormatMS(best.Time.Median))
				}
			}
			return nil
		},
	})
	if errors.Is(err, tuner.ErrNoVariant) {
		fmt.Fprintln(os.Stderr, "autotune: "+explain(err))
		t.failed, err = &batch.NotAllError{Last: err}, nil
	}
	return deviceTrouble(err)
}

func (t *tuned) writeAlone(w io.Writer) error {
	if len(t.winners) == 0 {
		return nil
	}
	if len(t.families) > 0 {
		fmt.Fprintln(w)
	}
	return reports.SummaryTable(w, t.winners, max(tableColumns, columnsOf(os.Stdout)))
}
