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
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/tuner/bestconfig"
	"autotune/tuner/torchtimes"
)

// The rows of the speedup plot.
const rowHeight, barWidth = vg.Length(36), vg.Length(22)

// SpeedupPlot writes a PNG of the winner's time beside those of the baselines,
// the winner's speedup over each, and the roofline.
func SpeedupPlot(w io.Writer, b bestconfig.Document) error {
	if !b.Found() {
		return errors.New("nothing to plot: the search found no valid variant")
	}
	rows, floor, u := comparedIn(b), b.Roofline.FloorMS, unitOf(b)
	times := lists.Of(rows, func(c Compared) float64 { return c.MS })
	if err := trial.CheckMS(times...); err != nil {
		return err
	}
	s := timeScale(times)
	if floor > 0 {
		rows = rows[:len(rows)-1]
	}
	others := rows[1:]
	slices.SortStableFunc(others, func(x, y Compared) int { return cmp.Compare(x.MS, y.MS) })
	p := newRows(len(rows), "time of a launch, "+u.Name+" (shorter is better), and the winner's speedup")
	s.apply(&p.X, u.PerMS)
	lengths := lists.Of(rows, func(c Compared) float64 { return s.at(c.MS) })
	p.Add(bars(lengths, barWidth, 0, muted), bars(lengths[:1], barWidth, 0, accent))
	if floor > 0 {
		p.Add(straight(dashed(roof), s.at(floor), p.Y.Min, s.at(floor), p.Y.Max), rooflineTag(b.Roofline, s, u, p.Y.Max))
		for i, end := range lengths {
			lengths[i] = beside(end, s.at(floor), s.at(s.high))
		}
	}
	rows[0].Name = "winner: " + b.Template
	for i, c := range rows {
		p.Add(rowTags(c, i, lengths[i], c.MS > s.high, max(0, len(b.Ties)-1)))
	}
	title := titleOf(b)
	f := newFigure(rowHeight*vg.Length(len(rows))+78, title, strings.Join(parametersOf(b), "  "), settingOf(b))
	p.Draw(draw.Crop(f.body, 0, 0, 0, -4))
	return f.writePNG(w)
}

// rowTags are a row's name, left of its bar, and right of its end its time and the winner's speedup over it. The
// winner's row, the first, has the number of others that the finals cannot tell from it.
func rowTags(c Compared, row int, end float64, beyond bool, tied int) tags {
	y, winner := -float64(row), row == 0
	name, time := typeface(10.5, winner, ink), typeface(10.5, winner, ink)
	name.XAlign = text.XRight
	list := tags{
		{0, y, vg.Point{X: -8}, name, ellipsis(c.Name, name, figureWidth/3)}, {end, y, vg.Point{X: 7}, time, c.Time},
	}
	at := 16 + time.Width(c.Time)
	add := func(style text.Style, text string) {
		list = append(list, tag{end, y, vg.Point{X: at}, style, text})
		at += 9 + style.Width(text)
	}
	if winner && tied > 0 {
		add(typeface(9.5, false, faint), "tied with "+output.Count(tied, "other"))
	}
	if c.Speedup > 0 {
		verdict := accent
		if c.Speedup < 1 {
			verdict = bad
		}
		add(typeface(10.5, true, verdict), c.Times)
	}
	if beyond {
		add(typeface(9.5, false, faint), "beyond the scale")
	}
	return list
}

// rooflineTag is above the roofline, to its right or, near the end, to its left.
func rooflineTag(r bestconfig.Roofline, s scale, u Unit, top float64) tags {
	style := typeface(9.5, false, roof)
	style.YAlign = text.YBottom
	if s.at(r.FloorMS) > s.at(s.high)/2 {
		style.XAlign = text.XRight
	}
	text := fmt.Sprintf("roofline %s, %s reached", u.Format(r.FloorMS), formatPercent(r.Share))
	return tags{{s.at(r.FloorMS), top, vg.Point{Y: 4}, style, text}}
}

// The columns of the summary plot, from the left: names, speedups, rooflines.
const (
	summaryNames    = 2.95 * vg.Inch
	summaryRoofline = 2.1 * vg.Inch
	summaryGap      = 0.3 * vg.Inch
)

// mostSpeedup is the ratio, either way, beyond which a number is no speedup.
const mostSpeedup = 1e9

// summarySeries are the baselines that the speedups are over, with colours.
var summarySeries = []struct {
	name  string
	color color.Color
}{{torchtimes.Eager, second}, {torchtimes.Compile, muted}, {bestconfig.Default, muted}}

// SummaryPlot writes a PNG with a row for each problem: the winner's speedups
// over PyTorch eager and torch.compile (over the untuned default where PyTorch
// was never measured), and its share of the roofline.
func SummaryPlot(w io.Writer, list []bestconfig.Document) error {
	list = lists.Where(list, bestconfig.Document.Found)
	if len(list) == 0 {
		return errors.New("nothing to plot: no problem has a winner")
	}
	known, series := speedupsKnown(list), summarySeries[:2]
	if !slices.ContainsFunc(known, bestconfig.OwnLayout) {
		series = summarySeries[2:]
	}
	values := []float64{1}
	for _, b := range list {
		for _, one := range series {
			speedup := b.Baselines[one.name].Speedup
			if speedup > mostSpeedup || speedup > 0 && speedup < 1/mostSpeedup {
				return fmt.Errorf("%s: %g is no speedup over %s", titleOf(b), speedup, one.name)
			}
			if speedup > 0 {
				values = append(values, speedup)
			}
		}
	}
	settings := lists.Of(list, settingOf)
	slices.Sort(settings)
	origin := settings[0]
	if len(slices.Compact(settings)) > 1 {
		origin = fmt.Sprintf("%d problems on several devices or days", len(list))
	}
	f := newFigure(vg.Length(50*len(list)+94), "Fastest kernels found", origin)
	left := draw.Crop(f.body, 0, -summaryRoofline-summaryGap, 0, -34)
	s := ratioScale(values)
	p := newRows(len(list), s.label("speedup")+" (higher is better)")
	s.apply(&p.X, 1)
	p.Legend = newLegend()
	var numbers tags
	const width = vg.Length(14)
	for k, one := range series {
		if !slices.Contains(known, one.name) {
			continue
		}
		offset := (width + 2) * (vg.Length(len(series)-1)/2 - vg.Length(k))
		lengths := make([]float64, len(list))
		for i, b := range list {
			if speedup := b.Baselines[one.name].Speedup; speedup > 0 {
				lengths[i] = s.at(speedup)
				numbers = append(numbers, tag{
					beside(lengths[i], s.at(1), s.at(s.high)), -float64(i), vg.Point{X: 5, Y: offset},
					typeface(9.5, true, ink), bestconfig.FormatSpeedup(speedup),
				})
			}
		}
		chart := bars(lengths, width, offset, one.color)
		p.Add(chart)
		title, _ := bestconfig.Titles(one.name)
		p.Legend.Add("over "+title, chart)
	}
	p.Add(boundary(p, s.at(1)), numbers)
	for i, b := range list {
		p.Add(problemTags(b, -float64(i)))
		if !slices.ContainsFunc(known, func(name string) bool { return b.Baselines[name].Speedup > 0 }) {
			p.Add(tags{{0, -float64(i), vg.Point{X: 5}, typeface(9.5, false, faint), "not compared"}})
		}
	}
	p.Legend.XOffs, p.Legend.YOffs = p.DataCanvas(left).Min.X-left.Min.X, 34
	p.Draw(left)
	f.body.Min.X = f.body.Max.X - summaryRoofline
	sharePlot(list).Draw(draw.Crop(f.body, 0, 0, 0, -34))
	return f.writePNG(w)
}

// boundary is a line at a place of the axis, through all rows.
func boundary(p *plot.Plot, x float64) plot.Plotter {
	return straight(draw.LineStyle{Color: ink, Width: vg.Points(1)}, x, p.Y.Min, x, p.Y.Max)
}

// problemTags name a row: the operator and shape, its parameters below.
func problemTags(b bestconfig.Document, y float64) tags {
	title, small := typeface(10, true, ink), typeface(8.5, false, faint)
	title.XAlign, small.XAlign = text.XRight, text.XRight
	lines := wrap(joined(" ", strings.Join(parametersOf(b), " "), b.Conditions.Unusual()), small, summaryNames)
	top := vg.Length(len(lines)) * 5.5
	list := tags{{0, y, vg.Point{X: -10, Y: top}, title, ellipsis(titleOf(b), title, summaryNames)}}
	for i, line := range lines {
		list = append(list, tag{0, y, vg.Point{X: -10, Y: top - 13 - 11*vg.Length(i)}, small, line})
	}
	return list
}

// mostShare is where the axis of the shares ends at most: a bar that is longer
// ends there, and its number tells.
const mostShare = 2

// sharePlot has a bar a problem: how much of the roofline its winner reaches.
func sharePlot(list []bestconfig.Document) *plot.Plot {
	p := newRows(len(list), "share of the roofline, %")
	var numbers tags
	lengths := make([]float64, len(list))
	for i, b := range list {
		t := tag{0, -float64(i), vg.Point{X: 5}, typeface(9.5, false, faint), "not known"}
		if share := b.Roofline.Share; share > 0 {
			lengths[i] = min(share, mostShare)
			// The column is narrow: a number takes a third of it.
			t.x, t.style, t.text = beside(lengths[i], 1, 4.0/3), typeface(9.5, true, ink), formatPercent(share)
		}
		numbers = append(numbers, t)
	}
	scale{high: max(1, slices.Max(lengths))}.apply(&p.X, 100)
	p.Add(bars(lengths, 14, 0, accent), boundary(p, 1), numbers)
	return p
}
