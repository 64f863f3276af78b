package pages

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports/webpage"
	"autotune/tuner/family"
)

// Family is a family of the file at a path on a page.
func Family(f *family.Family, path string) webpage.Family {
	page := webpage.Family{
		Title: f.Operator + " " + f.Shapes, Axes: webpage.AxesOf(f), Tree: f.TreeText(),
		Setting:  fmt.Sprintf("%s, %s", f.Device.Name, f.At.UTC().Format(time.DateOnly)),
		Most:     f.MaxSlowdown,
		Commands: []string{"autotune pack layers --from " + Quoted(path)},
		Entries:  lists.Of(f.Entries, func(e family.Entry) string { return e.Configuration.String() }),
	}
	if kind := f.Device.Kind.Properties(); kind.Caveat != "" {
		page.Setting += ", " + kind.Caveat + ": times say nothing about a GPU"
	}
	words := lists.Of(f.Parameters, func(p operator.Parameter) string { return p.Name + "=" + p.Value })
	page.Parameters = strings.Join(append(words, "math="+f.Math), " ")
	for _, l := range f.LeftOut {
		page.LeftOut = append(page.LeftOut, operator.FormatShape(l.Shape)+": "+l.Reason)
	}
	worst := 0.0
	for i, s := range slices.Concat(f.Samples, f.HeldOut) {
		shape := shapeOf(f, s, i >= len(f.Samples))
		page.Shapes = append(page.Shapes, shape)
		if shape.Slowdown > worst {
			worst = shape.Slowdown
			r := operator.ProblemRecord{Shape: s.Shape, Parameters: f.Parameters, Math: f.Math}.Request()
			page.Commands = append(page.Commands[:1], "autotune search "+Named(f.Operator, r))
		}
	}
	page.Verdict = verdict(f, page.Shapes)
	return page
}

func shapeOf(f *family.Family, s family.Sample, heldOut bool) webpage.Shape {
	shape := webpage.Shape{
		Text: operator.FormatShape(s.Shape), Entry: s.Chosen, BestMS: s.OwnBest.Median, Slowdown: s.Slowdown,
		HeldOut: heldOut,
	}
	if s.General != nil && s.OwnBest.Median > 0 {
		shape.General = s.General.Median / s.OwnBest.Median
	}
	return shape
}

func verdict(f *family.Family, shapes []webpage.Shape) string {
	text := fmt.Sprintf("%s, timed at %s.", output.Count(len(f.Entries), "kernel"), output.Count(len(shapes), "shape"))
	if r := f.Regret; r.Of > 0 {
		text += fmt.Sprintf(" Where shapes were held out (%d), the chosen one takes %.3g times as long as the fastest at "+
			"worst, %.3g times by the geometric mean.",
			r.Of, r.Worst, r.Mean)
	}
	var logarithms, times float64 // of how much slower the general kernel is than the chosen one
	for _, s := range shapes {
		if s.General > 0 && s.Entry >= 0 && s.Slowdown > 0 {
			logarithms, times = logarithms+math.Log(s.General/s.Slowdown), times+1
		}
	}
	if times > 0 {
		text += fmt.Sprintf(" The operator's plain kernel takes %.3g times as long as the chosen ones.",
			math.Exp(logarithms/times))
	}
	return text
}
