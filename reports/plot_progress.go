package reports

import (
	"cmp"
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

// progressLegend is the width of the legend to the right of the progress plot.
const progressLegend = vg.Length(124)

// ProgressPlot writes a PNG of the best time so far over the number of evaluations. The plot has a dot for each valid
// trial, hollow if the trial came from the cache, and a tick at the top for each failed trial. The plot's heading, and
// the horizontal lines for the baselines' times, come from the document b, which need not have a winner.
func ProgressPlot(w io.Writer, b bestconfig.Document, trials []trial.Trial) error {
	levels := lists.Where(comparedIn(b), func(c compared) bool { return c.level })
	times := lists.Of(levels, func(l compared) float64 { return l.ms })
	for _, t := range trials {
		if t.Status == trial.OK {
			times = append(times, t.Time.Median)
		}
	}
	if err := trial.CheckMS(times...); err != nil {
		return err
	}
	p := newPlot("evaluations", "")
	p.X.Min, p.X.Max = 0, float64(max(len(trials), 1))+1
	size := vg.Points(max(1.5, 2.8-float64(len(trials))/500))
	run := progress{Plot: p, unit: unitOf(b), legend: newLegend(), size: size}
	if valid := times[len(levels):]; len(valid) > 0 {
		low, high := slices.Min(times), min(slices.Max(times), mostSlower*slices.Min(valid))
		pad := cmp.Or((high-low)*0.16, high*0.05)
		p.Y.Min, p.Y.Max = run.unit.PerMS*max(0, low-pad/2), run.unit.PerMS*(high+pad)
		run.addTimes(trials, b.Search.Resumed)
		run.addLevels(levels)
	} else {
		p.HideY()
		p.Y.Min, p.Y.Max = 0, 1
		message := typeface(13, false, faint)
		message.XAlign = text.XCenter
		p.Add(tags{{p.X.Max / 2, 0.5, vg.Point{}, message, "no variant was valid"}})
	}
	run.addFailures(trials)
	f := newFigure(4.1*vg.Inch, "Search of "+Title(b), strings.Join(parametersOf(b), "  "), settingOf(b))
	run.legend.Draw(draw.Crop(f.body, f.body.Size().X-progressLegend, 0, 0, -8))
	p.Draw(draw.Crop(f.body, 0, -progressLegend-10, 0, -8))
	return f.writePNG(w)
}

// The plot's time axis ends at mostSlower times the best time. Trials beyond the end of the time axis are drawn at its
// end.
const mostSlower = 4

type progress struct {
	*plot.Plot
	unit   Unit // the unit of the times
	legend plot.Legend
	size   vg.Length // size of a mark, smaller if there are many
}

func (run *progress) at(ms float64) float64 { return min(run.unit.PerMS*ms, run.Y.Max) }

// addTimes adds the valid trials, of which the first `remembered` ones came from the cache. A step line shows the best
// time so far, up to the last evaluation.
func (run *progress) addTimes(trials []trial.Trial, remembered int) {
	var now, before plotter.XYs
	stair := &plotter.Line{StepStyle: plotter.PostStep, LineStyle: draw.LineStyle{Color: accent, Width: vg.Points(2)}}
	best := math.Inf(1)
	for i, t := range trials {
		if t.Status != trial.OK {
			continue
		}
		at := plotter.XY{X: float64(i + 1), Y: run.at(t.Time.Median)}
		if i < remembered {
			before = append(before, at)
		} else {
			now = append(now, at)
		}
		if t.Time.Median < best {
			best = t.Time.Median
			stair.XYs = append(stair.XYs, at)
		}
	}
	last := stair.XYs[len(stair.XYs)-1]
	stair.XYs = append(stair.XYs, plotter.XY{X: run.X.Max, Y: last.Y})
	run.Add(&plotter.Grid{Horizontal: gridLine()})
	pale := color.NRGBA{second.R, second.G, second.B, 0x80}
	run.addMarks(before, "from the cache", draw.GlyphStyle{Color: second, Shape: draw.RingGlyph{}})
	run.addMarks(now, "valid", draw.GlyphStyle{Color: pale, Shape: draw.CircleGlyph{}})
	found := draw.GlyphStyle{Color: accent, Radius: vg.Points(3.6), Shape: draw.CircleGlyph{}}
	run.Add(stair, &plotter.Scatter{XYs: plotter.XYs{last}, GlyphStyle: found})
	run.legend.Add("best "+run.unit.Format(best), stair)
}

// addMarks adds a mark for each trial, and shows their number in the legend.
func (run *progress) addMarks(at plotter.XYs, what string, style draw.GlyphStyle) {
	if len(at) > 0 {
		style.Radius = run.size
		marks := &plotter.Scatter{XYs: at, GlyphStyle: style}
		run.Add(marks)
		run.legend.Add(fmt.Sprintf("%d %s", len(at), what), marks)
	}
}

func (run *progress) addLevels(levels []compared) {
	for _, l := range levels {
		c := faint
		if l.speedup == 0 { // the roofline
			c = roof
		}
		line := straight(dashed(c), 0, run.at(l.ms), run.X.Max, run.at(l.ms))
		run.Add(line)
		run.legend.Add(l.name+" "+l.time, line)
	}
	run.Y.Label.Text = "time of a launch, " + run.unit.Name
}

// addFailures adds a tick at the top of the plot for each trial without a time.
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
	run.addMarks(failed, "without a time:", draw.GlyphStyle{Color: pale, Shape: stroke{}})
	for _, words := range statusWords(counts) {
		run.legend.Add(strings.ReplaceAll(words, "_", " "))
	}
}

// stroke is a short vertical line, whose width depends on the size of the marks.
type stroke struct{}

func (stroke) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: style.Radius / 2.4}, at.X, at.Y-4, at.X, at.Y+4)
}
