package reports

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
)

// errNoWinner is what plots of a winner say when there is none.
var errNoWinner = errors.New("nothing to plot: the search found no valid variant")

// The rows of the speedup plot.
const rowHeight, barWidth = vg.Length(36), vg.Length(22)

// row is a row of the speedup plot.
type row struct {
	name    string
	ms      float64
	speedup float64 // 0: the winner itself
	tied    int     // of the winner: how many others the finals cannot tell from it
}

// SpeedupPlot writes a PNG of the winner's time beside those of the baselines,
// the winner's speedup over each, and the roofline.
func SpeedupPlot(w io.Writer, b BestConfig) error {
	if !b.Found() {
		return errNoWinner
	}
	rows := b.rows()
	times := lists.Of(rows, func(r row) float64 { return r.ms })
	all, floor := times, b.Roofline.FloorMS
	if floor > 0 {
		all = append(slices.Clone(times), floor)
	}
	if err := trial.CheckMS(all...); err != nil {
		return err
	}
	s, u := barScale(all), b.unit()
	p := newRows(len(rows), s.label("time of a launch, "+u.Name)+" (shorter is better), and the winner's speedup")
	s.apply(&p.X, u.PerMS)
	lengths := make([]float64, len(times))
	for i, ms := range times {
		lengths[i] = s.at(ms)
		if s.cut > 0 && ms > s.cut {
			lengths[i] = s.at(s.high)
		}
	}
	p.Add(bars(lengths, barWidth, 0, muted), bars(lengths[:1], barWidth, 0, accent), breaks(times, s))
	if floor > 0 {
		p.Add(straight(dashed(roof), s.at(floor), p.Y.Min, s.at(floor), p.Y.Max))
		p.Add(rooflineTag(b.Roofline, s, u, p.Y.Max))
	}
	if floor > 0 {
		for i, end := range lengths {
			lengths[i] = beside(end, s.at(floor), s.at(s.high))
		}
	}
	p.Add(rowTags(rows, lengths, u))
	f := newFigure(rowHeight*vg.Length(len(rows))+78, b.title(), strings.Join(b.parameterWords(), "  "), b.setting())
	p.Draw(draw.Crop(f.body, 0, 0, 0, -4))
	return f.writePNG(w)
}

// rows are the winner and the known baselines, from the fastest on.
func (b BestConfig) rows() []row {
	others := lists.Of(b.baselineNames(), func(name BaselineName) row {
		return row{name: name.title(), ms: b.Baselines[name].TimeMS, speedup: b.Baselines[name].Speedup}
	})
	slices.SortStableFunc(others, func(x, y row) int { return cmp.Compare(x.ms, y.ms) })
	return append([]row{{name: "winner: " + b.Template, ms: b.Time.Median, tied: max(0, len(b.Ties)-1)}}, others...)
}

// rowTags are each row's name, left of its bar, and its time and the winner's
// speedup over it, to the right of the end.
func rowTags(rows []row, ends []float64, u Unit) tags {
	var list tags
	for i, r := range rows {
		y, winner := -float64(i), i == 0
		name, time := typeface(10.5, winner, ink), typeface(10.5, winner, ink)
		name.XAlign = text.XRight
		list = append(list,
			tag{0, y, vg.Point{X: -8}, name, ellipsis(r.name, name, figureWidth/3)},
			tag{ends[i], y, vg.Point{X: 7}, time, u.Format(r.ms)})
		if r.tied > 0 {
			list = append(list, tag{ends[i], y, vg.Point{X: 16 + time.Width(u.Format(r.ms))}, typeface(9.5, false, faint), "tied with " + output.Count(r.tied, "other")})
		}
		if r.speedup > 0 {
			verdict := accent
			if r.speedup < 1 {
				verdict = bad
			}
			list = append(list, tag{ends[i], y, vg.Point{X: 16 + time.Width(u.Format(r.ms))}, typeface(10.5, true, verdict), formatSpeedup(r.speedup)})
		}
	}
	return list
}

// rooflineTag is above the roofline, to its right or, near the end, to its left.
func rooflineTag(r Roofline, s scale, u Unit, top float64) tags {
	style := typeface(9.5, false, roof)
	style.YAlign = text.YBottom
	if s.at(r.FloorMS) > s.at(s.high)/2 {
		style.XAlign = text.XRight
	}
	return tags{{s.at(r.FloorMS), top, vg.Point{Y: 4}, style, fmt.Sprintf("roofline %s, %s reached", u.Format(r.FloorMS), formatPercent(r.Share))}}
}

// breaks cut the bars that are longer than the axis with a slanted white band.
func breaks(times []float64, s scale) *plotter.Scatter {
	list := &plotter.Scatter{GlyphStyle: draw.GlyphStyle{Color: color.White, Shape: slant{}}}
	for i, ms := range times {
		if s.cut > 0 && ms > s.cut {
			list.XYs = append(list.XYs, plotter.XY{X: s.at((s.cut + s.high) / 2), Y: -float64(i)})
		}
	}
	return list
}

// slant is the mark of a broken bar.
type slant struct{}

// DrawGlyph draws it, a little higher than a bar.
func (slant) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	const half = barWidth/2 + 1
	c.FillPolygon(style.Color, []vg.Point{{X: at.X - 6, Y: at.Y - half}, {X: at.X, Y: at.Y - half}, {X: at.X + 6, Y: at.Y + half}, {X: at.X, Y: at.Y + half}})
}

// The columns of the summary plot, from the left: names, speedups, rooflines.
const (
	summaryNames    = 2.95 * vg.Inch
	summaryRoofline = 2.1 * vg.Inch
	summaryGap      = 0.3 * vg.Inch
)

// mostSpeedup is the ratio, either way, beyond which a number is no speedup.
const mostSpeedup = 1e9

// SummaryPlot writes a PNG with a row for each problem: the winner's speedups
// over PyTorch eager and torch.compile (over the untuned default where PyTorch
// was never measured), and its share of the roofline.
func SummaryPlot(w io.Writer, list []BestConfig) error {
	list = slices.DeleteFunc(slices.Clone(list), func(b BestConfig) bool { return !b.Found() })
	if len(list) == 0 {
		return errors.New("nothing to plot: no problem has a winner")
	}
	series := summarySeries(list)
	speedups, err := speedupPlot(list, series)
	if err != nil {
		return err
	}
	rowHeight := vg.Length(26 + 12*max(2, len(series)))
	f := newFigure(rowHeight*vg.Length(len(list))+94, "Fastest kernels found", summaryOrigin(list))
	left := draw.Crop(f.body, 0, -summaryRoofline-summaryGap, 0, -34)
	speedups.Legend.XOffs, speedups.Legend.YOffs = speedups.DataCanvas(left).Min.X-left.Min.X, 34
	speedups.Draw(left)
	f.body.Min.X = f.body.Max.X - summaryRoofline
	sharePlot(list).Draw(draw.Crop(f.body, 0, 0, 0, -34))
	return f.writePNG(w)
}

// speedupPlot has a bar a problem and series, and the problems' names.
func speedupPlot(list []BestConfig, series []BaselineName) (*plot.Plot, error) {
	s, err := speedupScale(list, series)
	if err != nil {
		return nil, err
	}
	p := newRows(len(list), s.label("speedup")+" (higher is better)")
	s.apply(&p.X, 1)
	const width = vg.Length(14)
	p.Legend = newLegend()
	var numbers tags
	for k, name := range series {
		lengths, offset := make([]float64, len(list)), (width+2)*(vg.Length(len(series)-1)/2-vg.Length(k))
		for i, b := range list {
			if speedup := b.Baselines[name].Speedup; speedup > 0 {
				lengths[i] = s.at(speedup)
				numbers = append(numbers, tag{beside(lengths[i], s.at(1), s.at(s.high)), -float64(i), vg.Point{X: 5, Y: offset}, typeface(9.5, true, ink), formatSpeedup(speedup)})
			}
		}
		chart := bars(lengths, width, offset, summaryColors[name])
		p.Add(chart)
		p.Legend.Add("over "+name.title(), chart)
	}
	// Where the winner is as fast as what it is compared with.
	p.Add(straight(draw.LineStyle{Color: ink, Width: vg.Points(1)}, s.at(1), p.Y.Min, s.at(1), p.Y.Max), numbers)
	for i, b := range list {
		p.Add(problemTags(b, -float64(i)))
		if !slices.ContainsFunc(series, func(name BaselineName) bool { return b.Baselines[name].Speedup > 0 }) {
			p.Add(tags{{0, -float64(i), vg.Point{X: 5}, typeface(9.5, false, faint), "not compared"}})
		}
	}
	return p, nil
}

// problemTags name a row: the operator and shape, its parameters below.
func problemTags(b BestConfig, y float64) tags {
	title, small := typeface(10, true, ink), typeface(8.5, false, faint)
	title.XAlign, small.XAlign = text.XRight, text.XRight
	lines := wrap(strings.TrimSpace(strings.Join(b.parameterWords(), " ")+" "+b.Conditions.Unusual()), small, summaryNames)
	top := vg.Length(len(lines)) * 5.5
	list := tags{{0, y, vg.Point{X: -10, Y: top}, title, ellipsis(b.title(), title, summaryNames)}}
	for i, line := range lines {
		list = append(list, tag{0, y, vg.Point{X: -10, Y: top - 13 - 11*vg.Length(i)}, small, line})
	}
	return list
}

// mostShare is where the axis of the shares ends at most: a bar that is longer
// is cut, and its number tells.
const mostShare = 2

// sharePlot has a bar a problem: how much of the roofline its winner reaches.
func sharePlot(list []BestConfig) *plot.Plot {
	p := newRows(len(list), "share of the roofline, %")
	lengths, end := make([]float64, len(list)), 1.0
	var numbers tags
	for i, b := range list {
		t := tag{0, -float64(i), vg.Point{X: 5}, typeface(9.5, false, faint), "not known"}
		if share := b.Roofline.Share; share > 0 {
			lengths[i] = min(share, mostShare)
			// The column is narrow: a number takes a third of it.
			t.x, t.style, t.text = beside(lengths[i], 1, 4.0/3), typeface(9.5, true, ink), formatPercent(share)
		}
		numbers = append(numbers, t)
		end = max(end, lengths[i])
	}
	scale{high: end}.apply(&p.X, 1)
	var ticks plot.ConstantTicks
	for percent := 0; float64(percent) <= 100*end; percent += 25 {
		ticks = append(ticks, plot.Tick{Value: float64(percent) / 100, Label: fmt.Sprint(percent)})
	}
	p.X.Tick.Marker = ticks
	p.Add(bars(lengths, 14, 0, accent), straight(draw.LineStyle{Color: ink, Width: vg.Points(1)}, 1, p.Y.Min, 1, p.Y.Max), numbers)
	return p
}

// summaryColors tell the series apart.
var summaryColors = map[BaselineName]color.Color{TorchEager: second, TorchCompile: muted, Default: muted}

// summarySeries are the baselines that the speedups are over.
func summarySeries(list []BestConfig) []BaselineName {
	known := knownBaselines(list)
	series := slices.DeleteFunc([]BaselineName{TorchEager, TorchCompile}, func(name BaselineName) bool { return !slices.Contains(known, name) })
	if len(series) == 0 && slices.Contains(known, Default) {
		series = append(series, Default)
	}
	return series
}

// summaryOrigin names the device when it is one for all.
func summaryOrigin(list []BestConfig) string {
	origins := map[string]bool{}
	for _, b := range list {
		origins[b.setting()] = true
	}
	if len(origins) == 1 {
		return list[0].setting()
	}
	return fmt.Sprintf("%d problems on several devices or days", len(list))
}

func speedupScale(list []BestConfig, series []BaselineName) (scale, error) {
	values := []float64{1}
	for _, b := range list {
		for _, name := range series {
			if speedup := b.Baselines[name].Speedup; speedup > mostSpeedup || speedup > 0 && speedup < 1/mostSpeedup {
				return scale{}, fmt.Errorf("%s: %g is no speedup over %s", b.title(), speedup, name.title())
			} else if speedup > 0 {
				values = append(values, speedup)
			}
		}
	}
	// A cut bar would have to be cut in every row: too many breaks to read.
	s := barScale(values)
	if s.cut > 0 {
		return scale{log: true, low: slices.Min(values) * 0.7, high: slices.Max(values)}, nil
	}
	return s, nil
}
