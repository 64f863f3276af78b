package reports

import (
	"cmp"
	"errors"
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
	"autotune/tuner/simulate"
	"autotune/tuner/strategy"
)

// progressLegend is the width of the column right of the progress plot.
const progressLegend = vg.Length(124)

// ProgressPlot writes a PNG of the best time so far against the evaluations: a
// dot for each valid trial, hollow for those from the cache, which come first,
// and a tick at the top for each that failed. b gives the heading and the lines
// to compare with; it need not have a winner.
func ProgressPlot(w io.Writer, b BestConfig, trials []trial.Trial) error {
	levels, times := b.levels(), []float64(nil)
	times = append(times, lists.Of(levels, func(l level) float64 { return l.ms })...)
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
	run.addMarks(failed, "without a time:", draw.GlyphStyle{Color: color.NRGBA{bad.R, bad.G, bad.B, 0xb0}, Radius: radius(len(trials)), Shape: stroke{}})
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

// The simulation plot has the mean over recordings at the top and a small panel
// a recording below.
const (
	simulationTop     = 3.4 * vg.Inch
	simulationPanel   = 1.65 * vg.Inch
	simulationColumns = 3
	simulationNotes   = vg.Length(176) // the column at the right of the top
)

// SimulationPlot writes a PNG of how far strategies are from random search, 0,
// to the optimum, 1, over the time in which they are compared.
func SimulationPlot(w io.Writer, r *simulate.Report) error {
	if len(r.Strategies) == 0 || len(r.Recordings) == 0 {
		return errors.New("there is no simulation to plot")
	}
	rows := 0
	if len(r.Recordings) > 1 {
		rows = (len(r.Recordings) + simulationColumns - 1) / simulationColumns
	}
	plural := "s"
	if len(r.Recordings) == 1 {
		plural = ""
	}
	lines := append([]string{fmt.Sprintf("%d recording%s, %d repeats. Relative performance: 0 is random search, 1 the optimum. "+
		"The time runs from where random search is 1 %% to where it is 95 %% of the way from the median to the optimum.", len(r.Recordings), plural, r.Repeats)}, simulationWarnings(r)...)
	if slices.ContainsFunc(r.Strategies, func(s simulate.Standing) bool { return s.Devices > 0 }) {
		lines[0] += " Of several devices it is that of all together."
	}
	f := newFigure(simulationTop+vg.Length(rows)*simulationPanel, "Strategies on recorded searches", lines...)
	s := simulation{r.Recordings, slices.Clone(r.Strategies)}
	slices.SortStableFunc(s.strategies, func(a, b simulate.Standing) int { return cmp.Compare(b.Mean, a.Mean) })
	s.paintTop(draw.Crop(f.body, 0, 0, f.body.Size().Y-simulationTop, 0))
	panels := draw.Tiles{Rows: rows, Cols: simulationColumns}
	for i, name := range shortNames(r.Recordings) {
		if rows > 0 {
			s.paintPanel(panels.At(draw.Crop(f.body, 0, 0, 0, -simulationTop), i%simulationColumns, i/simulationColumns), i, name)
		}
	}
	return f.writePNG(w)
}

// simulation is a report as the plot shows it.
type simulation struct {
	recordings []simulate.About
	strategies []simulate.Standing // best first
}

// strategyColors are distinct hues.
var strategyColors = []color.NRGBA{
	accent, roof, second, {0x8e, 0x5a, 0xb5, 0xff}, {0xd4, 0xa5, 0x1e, 0xff},
	bad, {0x6b, 0xa5, 0x3a, 0xff}, {0x8a, 0x56, 0x3c, 0xff}, ink, {0xe3, 0x7f, 0xb9, 0xff},
}

// style is the strategy's own in every plot, however it did: a hue by its place
// in the list of strategies, then the hues again in dashes. With several devices it is
// one of the next hues, in dashes too.
func (s simulation) style(i int) draw.LineStyle {
	known := strategy.Names()
	at := slices.Index(known, s.strategies[i].Strategy)
	if at < 0 {
		at = len(known) + i
	}
	devices := lists.Of(s.strategies, func(one simulate.Standing) int { return one.Devices })
	slices.Sort(devices)
	more := slices.Index(slices.Compact(devices), s.strategies[i].Devices)
	style := draw.LineStyle{Color: strategyColors[(at+more)%len(strategyColors)], Width: vg.Points(1.3)}
	for n := at/len(strategyColors) + more; n > 0; n-- {
		style.Dashes = append(style.Dashes, vg.Points(float64(2+3*n)), vg.Points(2))
	}
	return style
}

// paintTop draws the means of the curves; the legend has the scores, best first.
func (s simulation) paintTop(c draw.Canvas) {
	curves := lists.Of(s.strategies, func(standing simulate.Standing) []float64 { return meanCurve(standing.Scores) })
	label := "share of the time"
	if len(s.recordings) > 1 {
		label += ", mean over recordings"
	}
	p := newPlot(label, "relative performance")
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.25, Label: "25 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.75, Label: "75 %"}, {Value: 1, Label: "100 %"}}
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.25, Label: "0.25"}, {Value: 0.5, Label: "0.5"}, {Value: 0.75, Label: "0.75"}, {Value: 1, Label: "1"}}
	lines := s.addCurves(p, curves)
	legend := newLegend()
	for i, standing := range s.strategies {
		legend.Add(fmt.Sprintf("%s  %.2f", standing.Label(), standing.Mean), lines[i])
	}
	legend.Draw(draw.Crop(c, c.Size().X-simulationNotes+14, 0, 0, -6))
	p.Draw(draw.Crop(c, 0, -simulationNotes, 12, -6))
}

func meanCurve(scores []simulate.Score) []float64 {
	sum := make([]float64, len(scores[0].Curve))
	for _, score := range scores {
		for i, v := range score.Curve {
			sum[i] += v / float64(len(scores))
		}
	}
	return sum
}

// deepest is how far below random search curves are shown.
const deepest = -0.5

// addCurves draws a curve a strategy, the best last, from the start to the end of the
// time. The plot becomes tall enough for the part of the curves that matters.
func (s simulation) addCurves(p *plot.Plot, curves [][]float64) []*plotter.Line {
	low := 0.0
	lines := make([]*plotter.Line, len(curves))
	for i, curve := range curves {
		lines[i] = &plotter.Line{LineStyle: s.style(i)}
		for k, v := range curve {
			low = min(low, v)
			lines[i].XYs = append(lines[i].XYs, plotter.XY{X: float64(k) / float64(max(1, len(curve)-1)), Y: v})
		}
	}
	lines[0].Width = vg.Points(2.2)
	p.Add(&plotter.Grid{Horizontal: gridLine()}, straight(dashed(faint), 0, 0, 1, 0))
	for _, line := range slices.Backward(lines) {
		p.Add(line)
	}
	p.X.Min, p.X.Max = 0, 1
	p.Y.Min, p.Y.Max = max(deepest, math.Floor(low*4)/4), 1
	return lines
}

// A panel's title has room for so many lines of this height.
const (
	panelLines = 2
	panelLine  = vg.Length(10.5)
)

// panelTitle is a recording's name in lines that fit; a word that is too long for
// one loses its middle, since names that begin alike differ at the end.
func panelTitle(name string, style text.Style, width vg.Length) []string {
	var words []string
	for _, word := range strings.Fields(name) {
		for most := len([]rune(word)); most > 1 && style.Width(word) > width; most-- {
			word = middle(word, most)
		}
		words = append(words, word)
	}
	fits := func(line string) bool { return style.Width(line) <= width }
	lines := wrapped(words, fits)
	for len(lines) > panelLines { // what all of them begin with goes first
		words = words[1:]
		lines = wrapped(append([]string{"…"}, words...), fits)
	}
	return lines
}

// paintPanel draws the curves on one recording, and the leader's score there.
func (s simulation) paintPanel(c draw.Canvas, recording int, name string) {
	curves := lists.Of(s.strategies, func(standing simulate.Standing) []float64 { return standing.Scores[recording].Curve })
	p := newPlot("", "")
	p.X.Tick.Marker = plot.ConstantTicks(nil)
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}}
	s.addCurves(p, curves)
	c = draw.Crop(c, 0, -12, 8, -6)
	title, score := typeface(8.5, false, ink), typeface(8.5, true, s.style(0).Color)
	score.XAlign = text.XRight
	value := fmt.Sprintf("%.2f", s.strategies[0].Scores[recording].Score)
	y := c.Max.Y - 5
	for _, line := range panelTitle(name, title, c.Size().X-score.Width(value)-10) {
		c.FillText(title, vg.Point{X: c.Min.X + 4, Y: y}, line)
		y -= panelLine
	}
	c.FillText(score, vg.Point{X: c.Max.X, Y: c.Max.Y - 5}, value)
	p.Draw(draw.Crop(c, 0, 0, 0, -4-panelLine*panelLines))
}
