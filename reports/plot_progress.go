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

	"autotune/tuner/trial"
)

// progressLegend is the width of the column right of the progress plot.
const progressLegend = vg.Length(124)

// ProgressPlot writes a PNG of the best time so far against the evaluations: a
// dot for each valid trial, hollow for those from the cache, which come first,
// and a tick at the top for each that failed. b gives the heading and the lines
// to compare with; it need not have a winner.
func ProgressPlot(w io.Writer, b BestConfig, trials []trial.Trial) error {
	levels, times := b.levels(), []float64(nil)
	for _, l := range levels {
		times = append(times, l.ms)
	}
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
	p.X.Tick.Marker = slices.DeleteFunc(p.X.Tick.Marker.(plot.ConstantTicks), func(t plot.Tick) bool { return t.Value != math.Trunc(t.Value) })
	run := progress{Plot: p, scale: scale{high: 1}, unit: b.unit(), legend: newLegend()}
	if valid := times[len(levels):]; len(valid) > 0 {
		run.best, run.scale = slices.Min(valid), dotScale(slices.Min(times), slices.Max(times))
		run.addTimes(trials, b.Search.Resumed)
		run.addLevels(levels)
	} else {
		run.addNothing()
	}
	run.addFailures(trials)
	f := newFigure(4.1*vg.Inch, "Search of "+b.title(), strings.Join(b.parameterWords(), "  "), b.setting())
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

// level is a time to compare with, as a horizontal line.
type level struct {
	name  string
	ms    float64
	color color.Color
}

func (b BestConfig) levels() []level {
	var list []level
	if base, known := b.Baselines[Default]; known {
		list = append(list, level{"default", base.TimeMS, faint})
	}
	if floor := b.Roofline.FloorMS; floor > 0 {
		list = append(list, level{"roofline", floor, roof})
	}
	return list
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
	run.addMarks(before, "from the cache", draw.GlyphStyle{Color: second, Radius: radius(len(trials)), Shape: draw.RingGlyph{}})
	run.addMarks(now, "valid", draw.GlyphStyle{Color: pale, Radius: radius(len(trials)), Shape: draw.CircleGlyph{}})
	run.Add(stair, &plotter.Scatter{XYs: plotter.XYs{last}, GlyphStyle: draw.GlyphStyle{Color: accent, Radius: vg.Points(3.6), Shape: draw.CircleGlyph{}}})
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
func (run *progress) addLevels(levels []level) {
	for _, l := range levels {
		line := straight(dashed(l.color), 0, run.scale.at(l.ms), run.X.Max, run.scale.at(l.ms))
		run.Add(line)
		run.legend.Add(l.name+" "+run.unit.Format(l.ms), line)
	}
	run.Y.Label.Text = run.scale.label("time of a launch, " + run.unit.name)
	run.scale.apply(&run.Y, run.unit.perMS)
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
	counts := Trials{ByStatus: map[trial.Status]int{}}
	for i, t := range trials {
		if t.Status != trial.OK {
			failed = append(failed, plotter.XY{X: float64(i + 1), Y: run.Y.Max})
			counts.ByStatus[t.Status]++
		}
	}
	run.addMarks(failed, "without a time:", draw.GlyphStyle{Color: color.NRGBA{bad.R, bad.G, bad.B, 0xb0}, Radius: radius(len(trials)), Shape: stroke{}})
	for _, words := range counts.statusWords() {
		run.legend.Add(strings.ReplaceAll(words, "_", " "))
	}
}

// stroke is a short upright line, thinner the smaller the mark.
type stroke struct{}

// DrawGlyph draws it.
func (stroke) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: style.Radius / 2.4}, at.X, at.Y-4, at.X, at.Y+4)
}
