package optimize

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"autotune/internal/output"
	"autotune/pack/capture"
)

// ways are how a program may be run, in the order of the table.
var ways = []string{"eager", "graph", "compile", "compile in a graph"}

// WriteText writes what was done, and what was measured.
func (r *Result) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, text string) { fmt.Fprintf(t, "%s\t%s\n", output.Line(name), output.Line(text)) }
	about := filepath.Base(r.File) + ", PyTorch " + r.Plan.Graph.Torch
	if r.Times != nil {
		about += ", " + r.Times.Device
	}
	row("program", about)
	for _, region := range r.Plan.Regions() {
		winner, found := r.Winners[region.Name]
		if !found {
			continue
		}
		row(region.Name, winner.Problem.String())
		row("", fmt.Sprintf("%s, %s, in place of %s", winner.Best.Template, milliseconds(winner.Best.Time.Median), strings.Join(region.Nodes, ", ")))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Left)) {
		row(name+" left", r.Left[name])
	}
	for _, step := range r.Plan.Steps {
		if step.Node != nil {
			row("PyTorch's", step.Node.Name+" ("+step.Node.Function+"): "+cmp.Or(step.Why, "no operator computes it"))
		}
	}
	if err := t.Flush(); err != nil || r.Times == nil {
		return err
	}
	return r.writeTimes(w)
}

func (r *Result) writeTimes(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\na pass of\tModel\tModelNew\t")
	for _, way := range ways {
		fmt.Fprintf(t, "%s\t%s\t%s\t\n", way, milliseconds(r.Times.Before[way]), milliseconds(r.After.Times[way]))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.After.Fault != "" {
		_, err := fmt.Fprintln(w, output.Line("ModelNew is of no use: "+r.After.Fault))
		return err
	}
	_, err := fmt.Fprintf(w, "%.3fx [%.3f, %.3f]: ModelNew (%s) over Model (%s), in turns; outputs differ by %.2g of their spread\n",
		r.After.Faster, r.After.Interval[0], r.After.Interval[1], capture.Best(r.After.Times), capture.Best(r.Times.Before), r.After.Distance)
	return err
}

// milliseconds is a time as the table shows it; nothing where there is none.
func milliseconds(ms float64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf("%.4g ms", ms)
}
