package reports

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"autotune/tuner/simulate"
)

// The simulation plot has the mean over recordings at the top and a small panel
// a recording below.
const (
	simulationTop     = 3.4 * vg.Inch
	simulationPanel   = 1.55 * vg.Inch
	simulationColumns = 3
	simulationNotes   = vg.Length(150) // the column at the right of the top
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
	f := newFigure(simulationTop+vg.Length(rows)*simulationPanel, "Strategies on recorded searches",
		fmt.Sprintf("%d recording%s, %d repeats. Relative performance: 0 is random search, 1 the optimum. "+
			"The time runs from where random search is 1 %% to where it is 95 %% of the way from the median to the optimum.", len(r.Recordings), plural, r.Repeats))
	s := newSimulation(r)
	top := draw.Crop(f.body, 0, 0, f.body.Size().Y-simulationTop, 0)
	s.paintTop(top)
	for i := range r.Recordings {
		if rows > 0 {
			s.paintPanel(panelOf(f.body, i), i)
		}
	}
	return f.writePNG(w)
}

// panelOf is the room of a recording's panel.
func panelOf(c draw.Canvas, i int) draw.Canvas {
	row, column := i/simulationColumns, i%simulationColumns
	width := c.Size().X / simulationColumns
	high := c.Size().Y - simulationTop - vg.Length(row)*simulationPanel
	left := vg.Length(column) * width
	return draw.Crop(c, left, left+width-c.Size().X, high-simulationPanel, high-c.Size().Y)
}

// simulation is a report as the plot shows it.
type simulation struct {
	*simulate.Report
	order  []int // of the strategies, best first
	colors []color.Color
}

// strategyColors are for the best strategies; the rest are drawn muted.
var strategyColors = []color.Color{
	accent, roof, second, color.NRGBA{0x8e, 0x5a, 0xb5, 0xff}, color.NRGBA{0xc2, 0x9a, 0x1d, 0xff},
	color.NRGBA{0x4f, 0x8f, 0x3a, 0xff}, bad, color.NRGBA{0x6a, 0x73, 0x7d, 0xff},
}

func newSimulation(r *simulate.Report) simulation {
	s := simulation{Report: r, colors: make([]color.Color, len(r.Strategies))}
	for i := range r.Strategies {
		s.order = append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		return cmp.Compare(r.Strategies[b].Mean, r.Strategies[a].Mean)
	})
	for place, i := range s.order {
		s.colors[i] = muted
		if place < len(strategyColors) {
			s.colors[i] = strategyColors[place]
		}
	}
	return s
}

// paintTop draws the means of the curves, with the scores beside them.
func (s simulation) paintTop(c draw.Canvas) {
	curves := make([][]float64, len(s.Strategies))
	for i, standing := range s.Strategies {
		curves[i] = meanCurve(standing.Scores)
	}
	p := s.frame(curves)
	p.X.Tick.Marker = plot.ConstantTicks([]plot.Tick{{Value: 0, Label: "0"}, {Value: 0.25, Label: "25 %"}, {Value: 0.5, Label: "50 %"}, {Value: 0.75, Label: "75 %"}, {Value: 1, Label: "100 %"}})
	label := "share of the time"
	if len(s.Recordings) > 1 {
		label += ", mean over recordings"
	}
	p.Add(labelX(label), labelY("relative performance"), horizontalGrid, s.lines(curves, vg.Points(2)), s.names(curves))
	p.Draw(draw.Crop(c, labelRoom, -simulationNotes, labelRoom+12, -6))
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

// frame is a plot from the start to the end of the time, tall enough for what
// matters of the curves.
func (s simulation) frame(curves [][]float64) *plot.Plot {
	p := newPlot()
	low := 0.0
	for _, curve := range curves {
		for _, v := range curve {
			low = min(low, v)
		}
	}
	p.X.Min, p.X.Max = 0, 1
	p.Y.Min, p.Y.Max = max(deepest, math.Floor(low*4)/4), 1
	p.Y.Tick.Marker = plot.ConstantTicks([]plot.Tick{{Value: 0, Label: "0"}, {Value: 0.25, Label: "0.25"}, {Value: 0.5, Label: "0.5"}, {Value: 0.75, Label: "0.75"}, {Value: 1, Label: "1"}})
	return p
}

// lines draws a curve a strategy, the best last.
func (s simulation) lines(curves [][]float64, width vg.Length) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		zero := c.Y(p.Y.Norm(0))
		c.StrokeLine2(dashed(faint), c.Min.X, zero, c.Max.X, zero)
		for place := len(s.order) - 1; place >= 0; place-- {
			i := s.order[place]
			line := draw.LineStyle{Color: s.colors[i], Width: width * 0.75}
			if place == 0 {
				line.Width = width
			}
			points := make([]vg.Point, len(curves[i]))
			for k, v := range curves[i] {
				points[k] = vg.Point{X: c.X(p.X.Norm(float64(k) / float64(len(points)-1))), Y: c.Y(p.Y.Norm(v))}
			}
			c.StrokeLines(line, c.ClipLinesY(points)...)
		}
	}
}

// names writes what each curve is and its score where it ends.
func (s simulation) names(curves [][]float64) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		var notes []note
		for place, i := range s.order {
			end := max(curves[i][len(curves[i])-1], p.Y.Min)
			style := typeface(9.5, place == 0, s.colors[i])
			notes = append(notes, note{c.Y(p.Y.Norm(end)), fmt.Sprintf("%s %.2f", s.Strategies[i].Strategy, s.Strategies[i].Mean), style})
		}
		spread(notes, 13, c.Min.Y+4, c.Max.Y)
		for _, n := range notes {
			c.FillText(n.style, vg.Point{X: c.Max.X + 8, Y: n.y}, n.text)
		}
	}
}

// paintPanel draws the curves on one recording.
func (s simulation) paintPanel(c draw.Canvas, recording int) {
	curves := make([][]float64, len(s.Strategies))
	best := s.Strategies[s.order[0]]
	for i, standing := range s.Strategies {
		curves[i] = standing.Scores[recording].Curve
	}
	p := s.frame(curves)
	p.X.Tick.Marker = plot.ConstantTicks(nil)
	p.Y.Tick.Marker = plot.ConstantTicks([]plot.Tick{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}})
	p.Add(horizontalGrid, s.lines(curves, vg.Points(1.5)))
	c = draw.Crop(c, 0, -12, 8, -6)
	title := typeface(9, false, ink)
	score := typeface(9, true, s.colors[s.order[0]])
	score.XAlign = text.XRight
	value := fmt.Sprintf("%.2f", best.Scores[recording].Score)
	y := c.Max.Y - 5
	room := c.Size().X - score.Width(value) - 40
	c.FillText(title, vg.Point{X: c.Min.X + 26, Y: y}, ellipsis(s.Recordings[recording].Name, title, room))
	c.FillText(score, vg.Point{X: c.Max.X, Y: y}, value)
	p.Draw(draw.Crop(c, 0, 0, 0, -14))
}
