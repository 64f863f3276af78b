package reports

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/tuner/simulate"
	"autotune/tuner/strategy"
)

// simulationNotes is the width of the column at the right of the plot.
const simulationNotes = vg.Length(176)

// SimulationPlot writes a PNG of how far strategies are from random search, 0,
// to the optimum, 1, over the time in which they are compared: the mean over recordings.
func SimulationPlot(w io.Writer, r *simulate.Report) error {
	if len(r.Strategies) == 0 || len(r.Recordings) == 0 {
		return errors.New("there is no simulation to plot")
	}
	about := fmt.Sprintf("%s, %d repeats. Relative performance: 0 is random search, 1 the optimum. The time runs from "+
		"where random search is 1 %% to where it is 95 %% of the way from the median to the optimum.",
		output.Count(len(r.Recordings), "recording"), r.Repeats)
	if slices.ContainsFunc(r.Strategies, func(s simulate.Standing) bool { return s.Devices > 0 }) {
		about += " Of several devices it is the time of all together."
	}
	f := newFigure(3.4*vg.Inch, "Strategies on recorded searches", append([]string{about}, simulationWarnings(r)...)...)
	p := newPlot("share of the time, %", "relative performance")
	scale{high: 1}.apply(&p.X, 100)
	p.Add(&plotter.Grid{Horizontal: gridLine()}, straight(dashed(faint), 0, 0, 1, 0))
	best := slices.Clone(r.Strategies)
	slices.SortStableFunc(best, func(a, b simulate.Standing) int { return cmp.Compare(b.Mean, a.Mean) })
	lines, low := make([]*plotter.Line, len(best)), 0.0
	legend := newLegend()
	for i, s := range best {
		lines[i] = &plotter.Line{LineStyle: styleOf(best, i)}
		mean := meanCurve(s.Scores)
		for k, v := range mean {
			low = min(low, v)
			lines[i].XYs = append(lines[i].XYs, plotter.XY{X: float64(k) / float64(max(1, len(mean)-1)), Y: v})
		}
		legend.Add(fmt.Sprintf("%s  %.2f", s.Label(), s.Mean), lines[i])
	}
	lines[0].Width = vg.Points(2.2)
	for _, line := range slices.Backward(lines) {
		p.Add(line)
	}
	p.Y.Min, p.Y.Max = max(deepest, math.Floor(low*4)/4), 1
	legend.Draw(draw.Crop(f.body, f.body.Size().X-simulationNotes+14, 0, 0, -6))
	p.Draw(draw.Crop(f.body, 0, -simulationNotes, 12, -6))
	return f.writePNG(w)
}

// deepest is how far below random search curves are shown.
const deepest = -0.5

// strategyColors are distinct hues.
var strategyColors = []color.NRGBA{accent, roof, second, {0x8e, 0x5a, 0xb5, 0xff}, {0xd4, 0xa5, 0x1e, 0xff}, bad, ink}

// styleOf is a strategy's own in every plot, however it did: a hue by its place
// in the list of strategies, then the hues again in dashes. With several devices it is
// one of the next hues, in dashes too.
func styleOf(list []simulate.Standing, i int) draw.LineStyle {
	known := strategy.Names()
	at := slices.Index(known, list[i].Strategy)
	if at < 0 {
		at = len(known) + i
	}
	devices := lists.Of(list, func(s simulate.Standing) int { return s.Devices })
	slices.Sort(devices)
	more := slices.Index(slices.Compact(devices), list[i].Devices)
	style := draw.LineStyle{Color: strategyColors[(at+more)%len(strategyColors)], Width: vg.Points(1.3)}
	for n := at/len(strategyColors) + more; n > 0; n-- {
		style.Dashes = append(style.Dashes, vg.Points(float64(2+3*n)), vg.Points(2))
	}
	return style
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
