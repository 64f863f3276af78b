package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner"
	"autotune/tuner/store"
)

// winnerInCache takes a GPU's winner before the emulator's, and of those the
// newest that is of the operator as it is today.
func winnerInCache(c *cli.Context) (chosen, error) {
	a, err := askedProblem(c)
	if err != nil {
		return chosen{}, err
	}
	s, err := openStore(c, store.Options{ReadOnly: true, Wait: 5 * time.Second})
	var absent *store.AbsentError
	if errors.As(err, &absent) {
		err = withCode(exitNoVariant, fmt.Errorf("%w%s", absent, a.shipped()))
	}
	if err != nil {
		return chosen{}, err
	}
	defer s.Close()
	candidates, err := a.candidates(s, c.String("device"))
	if err != nil {
		return chosen{}, err
	}
	kernel, at, err := a.newest(candidates)
	if err != nil {
		return chosen{}, err
	}
	for _, notice := range notices(candidates, at, c.String("device")) {
		say(os.Stderr, "autotune: "+notice)
	}
	w := chosen{best: kernel.Best, kernel: &kernel}
	if !takesTrials(c) {
		return w, nil
	}
	trials, err := candidates[at].Trials(s)
	if err != nil {
		return w, err
	}
	w.trials, err = currentTrials(c, kernel.Problem, trials)
	return w, err
}

// candidates are the winners that a store keeps of the problem on the devices that
// are meant.
func (a asked) candidates(s *store.Store, device string) ([]tuner.KeptWinner, error) {
	kept, err := tuner.Winners(s, a.operator.Name)
	if err != nil {
		return nil, err
	}
	wanted, err := a.among(kept, device)
	return wanted, withCode(exitNoVariant, err)
}

// among picks those winners, a GPU's before the emulator's and else as they come,
// newest first.
func (a asked) among(kept []tuner.KeptWinner, name string) ([]tuner.KeptWinner, error) {
	var wanted []tuner.KeptWinner
	var elsewhere, modes, timed, sought []string
	for _, w := range kept {
		other := a
		other.request.Math = w.Problem.Math
		switch c := w.Protocol.Conditions; {
		case a.names(w.Problem, w.Device) && called(w.Device, name) && w.Objective != a.objective.String():
			sought = append(sought, cmp.Or(w.Objective, "time"))
		case a.names(w.Problem, w.Device) && called(w.Device, name) && c != a.conditions:
			l2, launch := c.Words()
			timed = append(timed, fmt.Sprintf("one timed with %s (--l2 %s --launch %s)", c, l2, launch))
		case a.names(w.Problem, w.Device) && called(w.Device, name):
			wanted = append(wanted, w)
		case a.names(w.Problem, w.Device):
			elsewhere = append(elsewhere, w.Device.Name)
		case other.names(w.Problem, w.Device):
			modes = append(modes, "--math "+w.Problem.Math)
		}
	}
	slices.SortStableFunc(wanted, func(x, y tuner.KeptWinner) int { return cmp.Compare(rank(x), rank(y)) })
	switch {
	case len(wanted) > 0:
		return wanted, nil
	case len(timed) > 0:
		return nil, fmt.Errorf("the cache holds no winner of %s timed with %s; it holds %s", a, a.conditions, strings.Join(distinct(timed), ", "))
	case len(sought) > 0:
		return nil, fmt.Errorf("the cache holds no winner of %s by %s; it holds those by %s", a, cmp.Or(a.objective.String(), "time"), strings.Join(distinct(sought), ", "))
	case len(elsewhere) > 0:
		return nil, fmt.Errorf("the cache holds no winner of %s on a device called %s; it holds those of %s", a, name, strings.Join(distinct(elsewhere), ", "))
	case len(modes) > 0:
		return nil, fmt.Errorf("the cache holds no winner of %s; it holds one for %s", a, strings.Join(distinct(modes), ", "))
	}
	return nil, fmt.Errorf("the cache holds no winner of %s; run `autotune search` first (`autotune cache ls` lists what there is)%s", a, a.shipped())
}

// rank puts times of a GPU before those of none.
func rank(w tuner.KeptWinner) int {
	if w.Device.Kind.Properties().Caveat != "" {
		return 1
	}
	return 0
}

func distinct(words []string) []string { return slices.Compact(slices.Sorted(slices.Values(words))) }

// newest is the first of the candidates that is of the operator as it is today.
func (a asked) newest(candidates []tuner.KeptWinner) (cudasource.Winner, int, error) {
	var first error
	for i, w := range candidates {
		kernel, err := cudasource.Of(reports.FromRecord(w.Record), a.operator, limitsOf(w.Device), tool())
		if err == nil {
			return kernel, i, nil
		}
		first = cmp.Or(first, err)
	}
	return cudasource.Winner{}, 0, refusal(fmt.Errorf("the winner of %s in the cache is not of this operator as it is today: %w", a, first))
}

// notices say what a user may not expect of the answer.
func notices(candidates []tuner.KeptWinner, at int, device string) []string {
	var all []string
	if at > 0 {
		all = append(all, fmt.Sprintf("passed over a winner of %s on %s: its kernel was edited since, or is of another operator of this name",
			candidates[0].At.Format(time.DateTime), candidates[0].Device.Name))
	}
	if kind := candidates[at].Device.Kind.Properties(); kind.Caveat != "" && device == "auto" {
		all = append(all, "the cache holds no such winner of a GPU; this is one of "+kind.Label+", whose times say nothing about a GPU")
	}
	return all
}
