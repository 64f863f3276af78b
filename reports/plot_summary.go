package reports

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The columns of the summary plot, from the left: names, speedups, rooflines.
const (
	summaryNames    = 2.5 * vg.Inch
	summaryRoofline = 2.2 * vg.Inch
	summaryGap      = 0.4 * vg.Inch
)

// SummaryPlot writes a PNG with a row for each problem: the winner's speedups
// over PyTorch eager and torch.compile (over the untuned default where PyTorch
// was never measured), and its share of the roofline.
func SummaryPlot(w io.Writer, list []BestConfig) error {
	list = slices.DeleteFunc(slices.Clone(list), func(b BestConfig) bool { return !b.Found() })
	if len(list) == 0 {
		return errors.New("nothing to plot: no problem has a winner")
	}
	series := summarySeries(list)
	rowHeight := vg.Length(26 + 12*len(series))
	f := newFigure(rowHeight*vg.Length(len(list))+84, "Fastest kernels found", summaryOrigin(list))
	paintSeriesLegend(f.body, series)

	speedups := newPlot()
	s := scaleOfSpeedups(list, series)
	s.apply(&speedups.X, 0.14, 1)
	label := "speedup (higher is better)"
	if s.log {
		label = "speedup, logarithmic (higher is better)"
	}
	speedups.Add(verticalGrid, paintSpeedups(list, series), painter(paintOne), labelX(label))

	shares := newPlot()
	scale{max: 1}.apply(&shares.X, 0.22, 1)
	shares.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.25, Label: "25"}, {Value: 0.5, Label: "50"}, {Value: 0.75, Label: "75"}, {Value: 1, Label: "100"}}
	shares.Add(verticalGrid, paintShares(list), labelX("share of the roofline, %"))

	for _, p := range []*plot.Plot{speedups, shares} {
		hideY(p)
		p.Y.Min, p.Y.Max = -float64(len(list))+0.5, 0.5
	}
	width := f.body.Max.X - f.body.Min.X
	speedups.Draw(draw.Crop(f.body, summaryNames, -summaryRoofline-summaryGap, labelRoom, -24))
	shares.Draw(draw.Crop(f.body, width-summaryRoofline, 0, labelRoom, -24))
	return f.writePNG(w)
}

// summaryColors tell the series apart.
var summaryColors = map[BaselineName]color.Color{TorchEager: second, TorchCompile: muted, Default: muted}

// summarySeries are the baselines that the speedups are over.
func summarySeries(list []BestConfig) []BaselineName {
	known := func(name BaselineName) bool {
		return slices.ContainsFunc(list, func(b BestConfig) bool { return b.Baselines[name].Speedup > 0 })
	}
	var series []BaselineName
	for _, name := range []BaselineName{TorchEager, TorchCompile} {
		if known(name) {
			series = append(series, name)
		}
	}
	if len(series) == 0 && known(Default) {
		series = append(series, Default)
	}
	return series
}

// summaryOrigin names the device when it is one for all.
func summaryOrigin(list []BestConfig) string {
	origins := map[string]bool{}
	for _, b := range list {
		origins[b.origin()] = true
	}
	if len(origins) == 1 {
		return list[0].origin()
	}
	return fmt.Sprintf("%d problems on several devices or days", len(list))
}

func scaleOfSpeedups(list []BestConfig, series []BaselineName) scale {
	values := []float64{1}
	for _, b := range list {
		for _, name := range series {
			if speedup := b.Baselines[name].Speedup; speedup > 0 {
				values = append(values, speedup)
			}
		}
	}
	// A cut bar would have to be cut in every row: too many breaks to read.
	s := barScale(values)
	if s.cut > 0 {
		return scale{log: true, min: slices.Min(values) * 0.7, max: slices.Max(values)}
	}
	return s
}

func paintSpeedups(list []BestConfig, series []BaselineName) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		row := c.Y(p.Y.Norm(1)) - c.Y(p.Y.Norm(0))
		half := min(vg.Length(7), row*0.34/vg.Length(max(len(series), 1)))
		for i, b := range list {
			middle := c.Y(p.Y.Norm(-float64(i)))
			paintProblem(c, b, middle)
			y := middle + (half+1)*vg.Length(len(series)-1)
			for _, name := range series {
				if speedup := b.Baselines[name].Speedup; speedup > 0 {
					x := c.X(p.X.Norm(speedup))
					fillRect(c, summaryColors[name], c.Min.X, y-half, x, y+half)
					backed(c, typeface(9.5, true, ink), vg.Point{X: x + 5, Y: y}, formatSpeedup(speedup))
				}
				y -= 2*half + 2
			}
		}
	}
}

// paintProblem writes a row's name: the operator and shape, its parameters below.
func paintProblem(c draw.Canvas, b BestConfig, y vg.Length) {
	x := c.Min.X - 10
	width := summaryNames - 14
	style := typeface(10, true, ink)
	style.XAlign = text.XRight
	c.FillText(style, vg.Point{X: x, Y: y + 7}, ellipsis(b.title(), style, width))
	small := typeface(8.5, false, faint)
	small.XAlign = text.XRight
	c.FillText(small, vg.Point{X: x, Y: y - 6}, ellipsis(strings.Join(append([]string{b.Problem.Math}, b.parameterWords()...), " "), small, width))
}

// paintOne marks where the winner is as fast as what it is compared with.
func paintOne(c draw.Canvas, p *plot.Plot) {
	x := c.X(p.X.Norm(1))
	c.StrokeLine2(draw.LineStyle{Color: ink, Width: vg.Points(1)}, x, c.Min.Y, x, c.Max.Y)
}

func paintShares(list []BestConfig) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		for i, b := range list {
			y := c.Y(p.Y.Norm(-float64(i)))
			if b.Roofline.Share <= 0 {
				backed(c, typeface(9.5, false, faint), vg.Point{X: c.Min.X + 5, Y: y}, "not known")
				continue
			}
			x := c.X(p.X.Norm(min(b.Roofline.Share, 1)))
			fillRect(c, accent, c.Min.X, y-7, x, y+7)
			backed(c, typeface(9.5, true, ink), vg.Point{X: x + 5, Y: y}, formatPercent(b.Roofline.Share))
		}
	}
}

// paintSeriesLegend explains the colours of the speedups, in a line above them.
func paintSeriesLegend(c draw.Canvas, series []BaselineName) {
	style := typeface(9.5, false, ink)
	x, y := c.Min.X+summaryNames+4, c.Max.Y-5
	for _, name := range series {
		fillRect(c, summaryColors[name], x, y-markDrop-4, x+10, y-markDrop+4)
		label := "over " + name.title()
		c.FillText(style, vg.Point{X: x + 15, Y: y}, label)
		x += 15 + style.Width(label) + 20
	}
}
