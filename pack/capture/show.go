package capture

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"autotune/internal/output"
	"autotune/reports"
)

// shownCalls limits the printed problems and the printed unserved calls; the problems file lists more problems and
// calls.
const shownCalls = 8

// Show prints a summary of what a program did. The summary is short, so that the program's own output stays visible
// above it.
func (s *Seen) Show(w io.Writer, path string) error {
	var served float64
	for _, p := range s.Problems {
		served += p.Share
	}
	where := cmp.Or(s.GPU, "the CPU")
	fmt.Fprintf(w, "autotune: wrote %s: %s", path, output.Count(len(s.Problems), "problem"))
	if s.MS > 0 {
		fmt.Fprintf(w, " with %.1f %% of %s on %s", 100*served, reports.FormatMS(s.MS), where)
	}
	fmt.Fprintln(w)
	for _, note := range s.Notes {
		fmt.Fprintln(w, "autotune: "+note)
	}
	if len(s.Problems)+len(s.Unserved) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, p := range s.Problems {
		if i == shownCalls {
			fmt.Fprintf(t, "\t\tand %s\n", output.Count(len(s.Problems)-i, "other"))
			break
		}
		io.WriteString(t, output.Row(fmt.Sprintf("%.1f %%", 100*p.Share), fmt.Sprintf("%d x", p.Calls), p.String()))
	}
	for i, u := range byFunction(s.Unserved) {
		if i == shownCalls {
			break
		}
		why := "not served: " + u.Function + ": " + strings.TrimPrefix(u.Why, u.Function+": ")
		io.WriteString(t, output.Row(fmt.Sprintf("%.1f %%", 100*u.Share), fmt.Sprintf("%d x", u.Calls), why))
	}
	return t.Flush()
}

// byFunction adds up the unserved calls that have the same function and the same reason, and sorts the sums by time.
func byFunction(list []Unserved) (sums []Unserved) {
	for _, u := range list {
		at := slices.IndexFunc(sums, func(s Unserved) bool { return s.Function == u.Function && s.Why == u.Why })
		if at < 0 {
			sums = append(sums, u)
			continue
		}
		sums[at].Calls, sums[at].Share = sums[at].Calls+u.Calls, sums[at].Share+u.Share
	}
	slices.SortStableFunc(sums, func(a, b Unserved) int { return cmp.Compare(b.Share, a.Share) })
	return sums
}
