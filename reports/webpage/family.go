package webpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/space/expr"
	"autotune/tuner/family"
)

// Family is a family on a page, with the commands that go on from it.
type Family struct {
	*family.Family
	Commands []string
}

// familyView is a family as the page's template has it. The page's script reads its axes and shapes.
type familyView struct {
	Family     `json:"-"`
	ID         string  `json:"-"`
	Title      string  `json:"-"`
	Parameters string  `json:"-"`
	Setting    string  `json:"-"`
	Verdict    string  `json:"-"`
	Axes       []axis  `json:"axes"` // of a map of the shapes
	Points     []point `json:"shapes"`
}

// point is a shape at which the kernels of a family were timed.
type point struct {
	Text     string  `json:"text"`
	Entry    int     `json:"entry"`    // that is chosen; -1: the general kernel
	Best     string  `json:"best"`     // time of the fastest kernel, those made for the shape among them
	Slowdown float64 `json:"slowdown"` // of the chosen one against that
	General  float64 `json:"-"`        // likewise of the general kernel; 0: it was not timed
	HeldOut  bool    `json:"held_out"` // the choice was not made from it
}

func familyViewOf(f Family, id string) familyView {
	words := lists.Of(f.Parameters, func(p operator.Parameter) string { return p.Name + "=" + p.Value })
	v := familyView{
		Family: f, ID: id, Title: output.Line(f.Operator + " " + f.Shapes), Axes: axesOf(f.Family), Points: []point{},
		Parameters: output.Line(strings.Join(append(words, "math="+f.Math), " ")),
		Setting:    output.Line(f.Device.Name + ", " + f.At.UTC().Format(time.DateOnly)),
	}
	if caveat := f.Device.Kind.Properties().Caveat; caveat != "" {
		v.Setting += ", " + caveat + ": times say nothing about a GPU"
	}
	for i, s := range slices.Concat(f.Samples, f.HeldOut) {
		p := point{
			Text: operator.FormatShape(s.Shape), Entry: s.Chosen, Best: reports.FormatMS(s.OwnBest.Median),
			Slowdown: brief(s.Slowdown), HeldOut: i >= len(f.Samples),
		}
		if s.General != nil && s.OwnBest.Median > 0 {
			p.General = s.General.Median / s.OwnBest.Median
		}
		v.Points = append(v.Points, p)
	}
	v.Verdict = v.verdict()
	return v
}

func (f familyView) verdict() string {
	text := fmt.Sprintf("%s, timed at %s.", output.Count(len(f.Entries), "kernel"), output.Count(len(f.Points), "shape"))
	if r := f.Regret; r.Of > 0 {
		text += fmt.Sprintf(" Where shapes were held out (%d), the chosen one takes %.3g times as long as the fastest at "+
			"worst, %.3g times by the geometric mean.", r.Of, r.Worst, r.Mean)
	}
	var logarithms, times float64 // of how much slower the general kernel is than the chosen one
	for _, p := range f.Points {
		if p.General > 0 && p.Entry >= 0 && p.Slowdown > 0 {
			logarithms, times = logarithms+math.Log(p.General/p.Slowdown), times+1
		}
	}
	if times > 0 {
		text += fmt.Sprintf(" The operator's plain kernel takes %.3g times as long as the chosen ones.",
			math.Exp(logarithms/times))
	}
	return text
}

// Served says at how many shapes an entry is chosen, and how it does there at worst.
func (f familyView) Served(entry int) string {
	points, worst := lists.Where(f.Points, func(p point) bool { return p.Entry == entry }), 0.0
	for _, p := range points {
		worst = max(worst, p.Slowdown)
	}
	if len(points) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%.3f)", len(points), worst)
}

// Lines is the tree with its indents, whatever the names in it hold.
func (f familyView) Lines() string {
	lines := strings.Split(f.TreeText(), "\n")
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = line[:indent] + output.Line(line)
	}
	return strings.Join(lines, "\n")
}

// Left are the shapes without measurements, and why.
func (f familyView) Left() []string {
	return lists.Of(f.LeftOut, func(l family.LeftOut) string { return operator.FormatShape(l.Shape) + ": " + l.Reason })
}

// axis is a number that shapes differ by: a dimension, or a product of some that the choice compares.
type axis struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"` // of the shapes, in their order
	Turns  []float64 `json:"turns"`  // the bounds that the choice compares it with
}

// axesOf are the axes of a map of a family's samples and shapes that were held out. What the choice compares comes
// first, in its order, then the dimension with the most values.
func axesOf(f *family.Family) []axis {
	axes := []axis{}
	at := func(term string) int {
		if i := slices.IndexFunc(axes, func(a axis) bool { return a.Name == term }); i >= 0 {
			return i
		}
		e, err := expr.Parse(term)
		if err != nil {
			return -1
		}
		one := axis{Name: term, Values: []float64{}, Turns: []float64{}}
		for _, s := range slices.Concat(f.Samples, f.HeldOut) {
			values := map[string]expr.Value{}
			for i, n := range s.Shape {
				values[f.Dimensions[i]] = expr.Int(n)
			}
			v, err := e.Eval(values)
			if err != nil {
				return -1
			}
			x, _ := v.AsFloat()
			one.Values = append(one.Values, x)
		}
		axes = append(axes, one)
		return len(axes) - 1
	}
	for _, condition := range f.Tree.Conditions() {
		term, limit, _ := strings.Cut(condition, "<=")
		bound, err := strconv.ParseFloat(strings.TrimSpace(limit), 64)
		if i := at(strings.TrimSpace(term)); i >= 0 && err == nil && bound > 0 {
			axes[i].Turns = append(axes[i].Turns, bound)
		}
	}
	asked := len(axes)
	for _, name := range f.Free {
		at(name)
	}
	distinct := func(a axis) int { return len(slices.Compact(slices.Sorted(slices.Values(a.Values)))) }
	slices.SortStableFunc(axes[asked:], func(a, b axis) int { return cmp.Compare(distinct(b), distinct(a)) })
	return axes
}
