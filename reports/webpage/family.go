package webpage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/space/expr"
	"autotune/tuner/family"
)

// Family is what a page says about kernels for many shapes and about what chooses among them.
type Family struct {
	Title      string
	Parameters string
	Setting    string
	Verdict    string
	Entries    []string // the kernels
	Tree       string   // the choice among them, in lines
	LeftOut    []string // shapes without measurements, and why
	Shapes     []Shape
	Axes       []Axis   // of a map of the shapes
	Most       float64  // the slowdown that was asked for
	Commands   []string // that go on from here
}

// Shape is a shape at which the kernels of a family were timed.
type Shape struct {
	Text     string
	Entry    int     // that is chosen; -1: the general kernel
	BestMS   float64 // of the fastest kernel, those made for the shape among them
	Slowdown float64 // of the chosen one against that
	General  float64 // likewise of the general kernel; 0: it was not timed
	HeldOut  bool    // the choice was not made from it
}

// Best is the time of the fastest kernel in words.
func (s Shape) Best() string { return reports.FormatMS(s.BestMS) }

// Axis is a number that shapes differ by: a dimension, or a product of some that the choice compares.
type Axis struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"` // of the shapes, in their order
	Turns  []float64 `json:"turns"`  // the bounds that the choice compares it with
}

// AxesOf are the axes of a map of a family's samples and shapes that were held out. What the choice compares comes
// first, in its order, then the dimension with the most values.
func AxesOf(f *family.Family) (axes []Axis) {
	add := func(term string) *Axis {
		if at := slices.IndexFunc(axes, func(a Axis) bool { return a.Name == term }); at >= 0 {
			return &axes[at]
		}
		e, err := expr.Parse(term)
		if err != nil {
			return nil
		}
		axis := Axis{Name: term, Values: []float64{}, Turns: []float64{}}
		for _, s := range slices.Concat(f.Samples, f.HeldOut) {
			values := map[string]expr.Value{}
			for i, n := range s.Shape[:min(len(s.Shape), len(f.Dimensions))] {
				values[f.Dimensions[i]] = expr.Int(n)
			}
			v, err := e.Eval(values)
			if err != nil {
				return nil
			}
			x, _ := v.AsFloat()
			axis.Values = append(axis.Values, x)
		}
		axes = append(axes, axis)
		return &axes[len(axes)-1]
	}
	for _, condition := range f.Tree.Conditions() {
		term, limit, _ := strings.Cut(condition, "<=")
		if bound, err := strconv.ParseFloat(strings.TrimSpace(limit), 64); err == nil && bound > 0 {
			if axis := add(strings.TrimSpace(term)); axis != nil {
				axis.Turns = append(axis.Turns, bound)
			}
		}
	}
	asked := len(axes)
	for _, name := range f.Free {
		add(name)
	}
	distinct := func(a Axis) int { return len(slices.Compact(slices.Sorted(slices.Values(a.Values)))) }
	slices.SortStableFunc(axes[asked:], func(a, b Axis) int { return cmp.Compare(distinct(b), distinct(a)) })
	return axes
}

// Served says at how many shapes an entry is chosen, and how it does there at worst.
func (f Family) Served(entry int) string {
	shapes, worst := lists.Where(f.Shapes, func(s Shape) bool { return s.Entry == entry }), 0.0
	for _, s := range shapes {
		worst = max(worst, s.Slowdown)
	}
	if len(shapes) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%.3f)", len(shapes), worst)
}

// familyView is a family as the page's template has it.
type familyView struct {
	Family
	ID string
}

// Lines is the tree with its indents, whatever the names in it hold.
func (f familyView) Lines() string {
	lines := strings.Split(f.Tree, "\n")
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = line[:indent] + output.Line(line)
	}
	return strings.Join(lines, "\n")
}

// familyData is a family as the page's script reads it.
type familyData struct {
	Axes   []Axis      `json:"axes"`
	Shapes []shapeData `json:"shapes"`
}

type shapeData struct {
	Text     string  `json:"text"`
	Entry    int     `json:"entry"`
	Best     string  `json:"best"`
	Slowdown float64 `json:"slowdown"`
	HeldOut  bool    `json:"held_out"`
}

func familyDataOf(f Family) familyData {
	d := familyData{Axes: append([]Axis{}, f.Axes...), Shapes: []shapeData{}}
	for i := range d.Axes {
		d.Axes[i].Name = output.Line(d.Axes[i].Name)
	}
	for _, s := range f.Shapes {
		d.Shapes = append(d.Shapes, shapeData{output.Line(s.Text), s.Entry, s.Best(), brief(s.Slowdown), s.HeldOut})
	}
	return d
}
