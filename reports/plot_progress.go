package reports

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
)

// progressLegend is the width of the column right of the progress plot.
const progressLegend = vg.Length(124)

// ProgressPlot writes a PNG of the best time so far against the evaluations: a
// dot for each valid trial, hollow for those from the cache, which come first,
// and a tick at the top for each that failed. b gives the heading and the lines
// to compare with; it need not have a winner.
func ProgressPlot(w io.Writer, b bestconfig.Document, trials []trial.Trial) error {
	levels := lists.Where(comparedIn(b), func(c Compared) bool { return c.Level })
	times := lists.Of(levels, func(l Compared) float64 { return l.MS })
	for _, t := range trials {
		if t.Status == trial.OK {
			times = append(times, t.Time.Median)
		}
	}
	if err := trial.CheckMS(times...); err != nil {
		return err
	}
	p := newPlot("evaluations", "")
	scale{high: float64(max(len(trials), 1))*1.01 + 0.3}.apply(&p.X, 1)
	p.X.Tick.Marker = slices.DeleteFunc(p.X.Tick.Marker.(plot.ConstantTicks), func(t plot.Tick) bool {
		return t.Value != math.Trunc(t.Value)
	})
	run := progress{Plot: p, scale: scale{high: 1}, unit: unitOf(b), legend: newLegend()}
	if valid := times[len(levels):]; len(valid) > 0 {
		run.best, run.scale = slices.Min(valid), dotScale(slices.Min(times), slices.Max(times))
		run.addTimes(trials, b.Search.Resumed)
		run.addLevels(levels)
	} else {
		run.addNothing()
	}
	run.addFailures(trials)
	f := newFigure(4.1*vg.Inch, "Search of "+titleOf(b), strings.Join(parametersOf(b), "  "), settingOf(b))
	run.legend.Draw(draw.Crop(f.body, f.body.Size().X-progressLegend, 0, 0, -8))
	p.Draw(draw.Crop(f.body, 0, -progressLegend-10, 0, -8))
	return f.writePNG(w)
}

// progress is the plot of a search in the making.
type progress struct {
	*plot.Plot
	scale  scale // of the times
	unit   Unit  // likewise
	best   float64
	legend plot.Legend
}

// addTimes adds the valid trials; the first of them may be remembered. The best so far is
// a stair that goes on to the last evaluation.
func (run *progress) addTimes(trials []trial.Trial, remembered int) {
	var now, before plotter.XYs
	stair := &plotter.Line{StepStyle: plotter.PostStep, LineStyle: draw.LineStyle{Color: accent, Width: vg.Points(2)}}
	best := math.Inf(1)
	for i, t := range trials {
		if t.Status != trial.OK {
			continue
		}
		at := plotter.XY{X: float64(i + 1), Y: run.scale.at(t.Time.Median)}
		if i < remembered {
			before = append(before, at)
		} else {
			now = append(now, at)
		}
		if at.Y < best {
			best = at.Y
			stair.XYs = append(stair.XYs, at)
		}
	}
	last := stair.XYs[len(stair.XYs)-1]
	stair.XYs = append(stair.XYs, plotter.XY{X: run.X.Max, Y: best})
	run.Add(&plotter.Grid{Horizontal: gridLine()})
	pale := color.NRGBA{second.R, second.G, second.B, 0x80}
	size := radius(len(trials))
	run.addMarks(before, "from the cache", draw.GlyphStyle{Color: second, Radius: size, Shape: draw.RingGlyph{}})
	run.addMarks(now, "valid", draw.GlyphStyle{Color: pale, Radius: size, Shape: draw.CircleGlyph{}})
	found := draw.GlyphStyle{Color: accent, Radius: vg.Points(3.6), Shape: draw.CircleGlyph{}}
	run.Add(stair, &plotter.Scatter{XYs: plotter.XYs{last}, GlyphStyle: found})
	run.legend.Add("best "+run.unit.Format(run.best), stair)
}

// radius is smaller the more dots there are.
func radius(dots int) vg.Length {
	switch {
	case dots <= 100:
		return vg.Points(2.8)
	case dots <= 600:
		return vg.Points(2.1)
	default:
		return vg.Points(1.5)
	}
}

// addMarks adds a mark a trial, and says in the legend how many there are.
func (run *progress) addMarks(at plotter.XYs, what string, style draw.GlyphStyle) {
	if len(at) > 0 {
		run.Add(&plotter.Scatter{XYs: at, GlyphStyle: style})
		style.Radius = radius(0)
		run.legend.Add(fmt.Sprintf("%d %s", len(at), what), &plotter.Scatter{XYs: make(plotter.XYs, 1), GlyphStyle: style})
	}
}

// addLevels adds the times to compare with, and the axis of the times.
func (run *progress) addLevels(levels []Compared) {
	for _, l := range levels {
		c := faint
		if l.Speedup == 0 { // the roofline
			c = roof
		}
		line := straight(dashed(c), 0, run.scale.at(l.MS), run.X.Max, run.scale.at(l.MS))
		run.Add(line)
		run.legend.Add(l.Name+" "+l.Time, line)
	}
	run.Y.Label.Text = run.scale.label("time of a launch, " + run.unit.Name)
	run.scale.apply(&run.Y, run.unit.PerMS)
}

// addNothing says that there are no times.
func (run *progress) addNothing() {
	run.HideY()
	run.Y.Min, run.Y.Max = 0, 1
	message := typeface(13, false, faint)
	message.XAlign = text.XCenter
	run.Add(tags{{run.X.Max / 2, 0.5, vg.Point{}, message, "no variant was valid"}})
}

// addFailures adds a tick at the top for each trial without a time.
func (run *progress) addFailures(trials []trial.Trial) {
	var failed plotter.XYs
	counts := tuner.Counts{ByStatus: map[trial.Status]int{}}
	for i, t := range trials {
		if t.Status != trial.OK {
			failed = append(failed, plotter.XY{X: float64(i + 1), Y: run.Y.Max})
			counts.ByStatus[t.Status]++
		}
	}
	pale := color.NRGBA{bad.R, bad.G, bad.B, 0xb0}
	run.addMarks(failed, "without a time:", draw.GlyphStyle{Color: pale, Radius: radius(len(trials)), Shape: stroke{}})
	for _, words := range statusWords(counts) {
		run.legend.Add(strings.ReplaceAll(words, "_", " "))
	}
}

// stroke is a short upright line, thinner the smaller the mark.
type stroke struct{}

// DrawGlyph draws it.
func (stroke) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: style.Radius / 2.4}, at.X, at.Y-4, at.X, at.Y+4)
}
