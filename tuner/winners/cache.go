package winners

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner/recording"
	"autotune/tuner/store"
)

// InCache takes a GPU's winner before the emulator's, and of those the newest that is
// of the operator as it is today.
func (r Request) InCache(ctx context.Context, s *store.Store) (w Chosen, err error) {
	kept, err := List(s, r.Operator.Name)
	if err != nil {
		return w, err
	}
	if kept, err = r.among(kept); err != nil {
		return w, err
	}
	at := 0
	if w.Winner, at, err = r.newest(kept); err != nil {
		return w, err
	}
	w.Kept, w.Notices = kept[at], r.notices(kept, at)
	if !r.Trials {
		return w, nil
	}
	trials, err := w.Kept.Trials(s)
	if err != nil {
		return w, err
	}
	return w, w.take(ctx, r, w.Problem, trials)
}

// among picks the winners that are asked for, a GPU's before the emulator's and else as
// they come, newest first.
func (r Request) among(kept []Kept) ([]Kept, error) {
	var wanted []Kept
	var elsewhere, modes, timed, sought []string
	for _, w := range kept {
		other := r
		other.Math = w.Problem.Math
		switch c := w.Protocol.Conditions; {
		case !r.names(w.Problem, w.Device):
			if other.names(w.Problem, w.Device) {
				modes = append(modes, "--math "+w.Problem.Math)
			}
		case !r.Means(w.Device):
			elsewhere = append(elsewhere, w.Device.Name)
		case w.Objective != r.Objective.String():
			sought = append(sought, cmp.Or(w.Objective, "time"))
		case c != r.Conditions:
			l2, launch := c.Words()
			timed = append(timed, fmt.Sprintf("one timed with %s (--l2 %s --launch %s)", c, l2, launch))
		default:
			wanted = append(wanted, w)
		}
	}
	slices.SortStableFunc(wanted, func(x, y Kept) int { return cmp.Compare(rank(x), rank(y)) })
	if len(wanted) > 0 {
		return wanted, nil
	}
	found := fmt.Sprintf("; run `autotune search` first (`autotune cache ls` lists what there is)%s", r.ShippedHint())
	switch {
	case len(timed) > 0:
		found = fmt.Sprintf(" timed with %s; it holds %s", r.Conditions, distinct(timed))
	case len(sought) > 0:
		found = fmt.Sprintf(" by %s; it holds those by %s", cmp.Or(r.Objective.String(), "time"), distinct(sought))
	case len(elsewhere) > 0:
		found = fmt.Sprintf(" on a device called %s; it holds those of %s", r.Device, distinct(elsewhere))
	case len(modes) > 0:
		found = fmt.Sprintf("; it holds one for %s", distinct(modes))
	}
	return nil, &NoneError{fmt.Sprintf("the cache holds no winner of %s%s", r, found)}
}

// ShippedHint points to the shipped recording of the problem; "": there is none.
func (r Request) ShippedHint() string {
	if _, _, err := recording.FindRequest(recording.Shipped(), r.Operator, r.Request); err != nil {
		return ""
	}
	return "; a replay keeps nothing, but --from replay takes the winner of the recording that is shipped"
}

// rank puts times of a GPU before those of none.
func rank(w Kept) int {
	if w.Device.Kind.Properties().Caveat != "" {
		return 1
	}
	return 0
}

func distinct(words []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(words))), ", ")
}

// newest is the first of the winners that is of the operator as it is today.
func (r Request) newest(kept []Kept) (w cudasource.Winner, at int, err error) {
	var first error
	for i, k := range kept {
		if w, err = cudasource.Of(reports.FromRecord(k.Record), r.Operator, LimitsOf(k.Device), r.Tool); err == nil {
			return w, i, nil
		}
		first = cmp.Or(first, err)
	}
	return w, 0, fmt.Errorf("the winner of %s in the cache is not of this operator as it is today: %w", r, first)
}

// notices say what a user may not expect of the answer.
func (r Request) notices(kept []Kept, at int) []string {
	var all []string
	if at > 0 {
		all = append(all, fmt.Sprintf("passed over a winner of %s on %s: its kernel was edited since, or is of another operator of this name",
			kept[0].At.Format(time.DateTime), kept[0].Device.Name))
	}
	if kind := kept[at].Device.Kind.Properties(); kind.Caveat != "" && r.Device == "auto" {
		all = append(all, "the cache holds no such winner of a GPU; this is one of "+kind.Label+", whose times say nothing about a GPU")
	}
	return all
}
