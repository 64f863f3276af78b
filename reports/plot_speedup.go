package reports

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"autotune/internal/output"
	"autotune/tuner/trial"
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
	var times []float64
	for _, r := range rows {
		times = append(times, r.ms)
	}
	all, floor := times, b.Roofline.FloorMS
	if floor > 0 {
		all = append(slices.Clone(times), floor)
	}
	if err := trial.CheckMS(all...); err != nil {
		return err
	}
	s, u := barScale(all), b.unit()
	p := newRows(len(rows), s.label("time of a launch, "+u.name)+" (shorter is better), and the winner's speedup")
	s.apply(&p.X, u.perMS)
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
	var others []row
	for _, name := range b.baselineNames() {
		others = append(others, row{name: name.title(), ms: b.Baselines[name].TimeMS, speedup: b.Baselines[name].Speedup})
	}
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
