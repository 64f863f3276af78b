package reports

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"autotune/tuner/trial"
)

// progressNotes is the width of the column right of the progress plot.
const progressNotes = vg.Length(92)

// ProgressPlot writes a PNG of the best time so far against the evaluations, in
// the order in which the trials came: a dot for each valid one, a tick at the
// top for each that failed. b gives the heading and the lines to compare with;
// it need not have a winner.
func ProgressPlot(w io.Writer, b BestConfig, trials []trial.Trial) error {
	f := newFigure(4.1*vg.Inch, "Search of "+b.title(), strings.Join(b.parameterWords(), "  "), b.origin())
	run := newProgress(b, trials)
	p := newPlot()
	p.X.Min, p.X.Max = 0, float64(max(len(trials), 1))*1.01+0.3
	p.X.Tick.Marker = plot.ConstantTicks(wholeTicks(len(trials)))
	unit, perMS := timeUnit(run.scale.max)
	label := "time of a launch, " + unit
	if run.scale.log {
		label += ", logarithmic"
	}
	// The grid ends below the band of failures.
	run.scale.apply(&p.Y, 0.08, perMS)
	if len(run.best) == 0 {
		hideY(p)
		label = ""
	}
	p.Add(labelX("evaluations"), labelY(label), horizontalGrid, painter(run.paintTrials), painter(run.paintBest), painter(run.paintFailures), painter(run.paintLines))
	run.paintLegend(f.body)
	p.Draw(draw.Crop(f.body, labelRoom, -progressNotes, labelRoom, -24))
	return f.writePNG(w)
}

// progress is a search as the plot shows it.
type progress struct {
	trials []trial.Trial
	best   []step
	failed int
	lines  []level
	scale  scale
}

// step is an improvement: from this evaluation on, that time.
type step struct {
	at int
	ms float64
}

// level is a time to compare with, as a horizontal line.
type level struct {
	name  string
	ms    float64
	color color.Color
}

func newProgress(b BestConfig, trials []trial.Trial) progress {
	run := progress{trials: trials}
	low, high := math.Inf(1), math.Inf(-1)
	for i, t := range trials {
		if t.Status != trial.OK {
			run.failed++
			continue
		}
		low, high = min(low, t.Time.Median), max(high, t.Time.Median)
		if len(run.best) == 0 || t.Time.Median < run.best[len(run.best)-1].ms {
			run.best = append(run.best, step{i + 1, t.Time.Median})
		}
	}
	if len(run.best) == 0 {
		run.scale = scale{max: 1}
		return run
	}
	if base, known := b.Baselines[Default]; known {
		run.lines = append(run.lines, level{"default", base.TimeMS, faint})
	}
	if floor := b.Roofline.FloorMS; floor > 0 {
		run.lines = append(run.lines, level{"roofline", floor, roof})
	}
	for _, line := range run.lines {
		low, high = min(low, line.ms), max(high, line.ms)
	}
	run.scale = timeScale(low, high)
	return run
}

// timeScale is a scale for dots: it need not begin at zero, and is logarithmic
// when the slow ones would press the fast ones together.
func timeScale(low, high float64) scale {
	if high > 4*low {
		return scale{log: true, min: low * math.Pow(high/low, -0.06), max: high}
	}
	pad := (high - low) * 0.08
	if pad == 0 {
		pad = high * 0.05
	}
	return scale{min: max(0, low-pad), max: high + pad}
}

// wholeTicks are round numbers of evaluations.
func wholeTicks(n int) []plot.Tick {
	var ticks []plot.Tick
	for _, tick := range linearTicks(0, float64(max(n, 1)), 1) {
		if tick.Value == math.Trunc(tick.Value) {
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

var horizontalGrid = painter(func(c draw.Canvas, p *plot.Plot) {
	for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		y := c.Y(p.Y.Norm(tick.Value))
		c.StrokeLine2(gridLine(), c.Min.X, y, c.Max.X, y)
	}
})

// paintTrials draws a dot a valid trial, smaller the more there are.
func (run progress) paintTrials(c draw.Canvas, p *plot.Plot) {
	dot := draw.GlyphStyle{Color: color.NRGBA{0x5b, 0x8d, 0xc9, 0x80}, Radius: run.dotRadius(), Shape: draw.CircleGlyph{}}
	for i, t := range run.trials {
		if t.Status == trial.OK {
			c.DrawGlyphNoClip(dot, vg.Point{X: c.X(p.X.Norm(float64(i + 1))), Y: c.Y(p.Y.Norm(t.Time.Median))})
		}
	}
}

func (run progress) dotRadius() vg.Length {
	switch n := len(run.trials); {
	case n <= 100:
		return vg.Points(2.8)
	case n <= 600:
		return vg.Points(2.1)
	default:
		return vg.Points(1.5)
	}
}

// paintBest draws the best so far as a stair that goes on to the last evaluation.
func (run progress) paintBest(c draw.Canvas, p *plot.Plot) {
	if len(run.best) == 0 {
		message := typeface(13, false, faint)
		message.XAlign = text.XCenter
		c.FillText(message, c.Center(), "no variant was valid")
		return
	}
	var stair []vg.Point
	for i, s := range run.best {
		x, y := c.X(p.X.Norm(float64(s.at))), c.Y(p.Y.Norm(s.ms))
		if i > 0 {
			stair = append(stair, vg.Point{X: x, Y: stair[len(stair)-1].Y})
		}
		stair = append(stair, vg.Point{X: x, Y: y})
	}
	last := stair[len(stair)-1]
	stair = append(stair, vg.Point{X: c.Max.X, Y: last.Y})
	c.StrokeLines(draw.LineStyle{Color: accent, Width: vg.Points(2)}, stair)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: accent, Radius: vg.Points(3.6), Shape: draw.CircleGlyph{}}, last)
}

// paintFailures draws a tick at the top for each trial without a time.
func (run progress) paintFailures(c draw.Canvas, p *plot.Plot) {
	line := draw.LineStyle{Color: color.NRGBA{bad.R, bad.G, bad.B, 0xb0}, Width: min(vg.Points(1.2), max(vg.Points(0.4), run.dotRadius()/2))}
	for i, t := range run.trials {
		if t.Status != trial.OK {
			x := c.X(p.X.Norm(float64(i + 1)))
			c.StrokeLine2(line, x, c.Max.Y-8, x, c.Max.Y)
		}
	}
}

// paintLines draws the levels and, in the column at the right, what they and
// the best are.
func (run progress) paintLines(c draw.Canvas, p *plot.Plot) {
	if len(run.best) == 0 {
		return
	}
	best := run.best[len(run.best)-1].ms
	notes := []note{{c.Y(p.Y.Norm(best)), "best " + formatMS(best), typeface(9.5, true, accent)}}
	for _, l := range run.lines {
		y := c.Y(p.Y.Norm(l.ms))
		c.StrokeLine2(dashed(l.color), c.Min.X, y, c.Max.X, y)
		notes = append(notes, note{y, l.name + " " + formatMS(l.ms), typeface(9.5, false, l.color)})
	}
	spread(notes, 12.5, c.Min.Y, c.Max.Y)
	for _, n := range notes {
		c.FillText(n.style, vg.Point{X: c.Max.X + 6, Y: n.y}, n.text)
	}
}

// paintLegend explains the marks, in a line above the plot.
func (run progress) paintLegend(c draw.Canvas) {
	style := typeface(9, false, ink)
	x, y := c.Min.X+2, c.Max.Y-5
	mark := y - markDrop
	say := func(s string) {
		c.FillText(style, vg.Point{X: x, Y: y}, s)
		x += style.Width(s) + 20
	}
	if ok := len(run.trials) - run.failed; ok > 0 {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: second, Radius: vg.Points(2.8), Shape: draw.CircleGlyph{}}, vg.Point{X: x + 3, Y: mark})
		x += 11
		say(fmt.Sprintf("%d valid", ok))
		c.StrokeLine2(draw.LineStyle{Color: accent, Width: vg.Points(2)}, x, mark, x+16, mark)
		x += 21
		say("best so far")
	}
	if run.failed > 0 {
		c.StrokeLine2(draw.LineStyle{Color: bad, Width: vg.Points(1.2)}, x+2, mark-4, x+2, mark+4)
		x += 8
		say(ellipsis(run.failures(), style, c.Max.X-x))
	}
}

// failures counts the trials without a time: "5 without a time: 3 timeout, 2 pruned".
func (run progress) failures() string {
	counts := Trials{ByStatus: map[trial.Status]int{}}
	for _, t := range run.trials {
		if t.Status != trial.OK {
			counts.ByStatus[t.Status]++
		}
	}
	return fmt.Sprintf("%d without a time: %s", run.failed, strings.ReplaceAll(strings.Join(counts.statusWords(), ", "), "_", " "))
}
