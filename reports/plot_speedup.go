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
)

// errNoWinner is what plots of a winner say when there is none.
var errNoWinner = errors.New("nothing to plot: the search found no valid variant")

// bar is one row of the speedup plot.
type bar struct {
	name    string
	ms      float64
	speedup float64 // 0: the winner itself
	color   color.Color
}

// SpeedupPlot writes a PNG of the winner's time beside those of the baselines,
// the winner's speedup over each, and the roofline.
func SpeedupPlot(w io.Writer, b BestConfig) error {
	if !b.Found() || b.Time.Median <= 0 {
		return errNoWinner
	}
	bars := b.bars()
	const rowHeight = vg.Length(36)
	f := newFigure(rowHeight*vg.Length(len(bars))+78, b.title(), strings.Join(b.parameterWords(), "  "), b.origin())
	p := newPlot()
	hideY(p)
	p.Y.Min, p.Y.Max = -float64(len(bars))+0.4, 0.6
	lengths := make([]float64, 0, len(bars)+1)
	for _, row := range bars {
		lengths = append(lengths, row.ms)
	}
	if b.Roofline.FloorMS > 0 {
		lengths = append(lengths, b.Roofline.FloorMS)
	}
	s := barScale(lengths)
	unit, perMS := timeUnit(slices.Max(lengths))
	label := "time of a launch, " + unit
	if s.log {
		label += ", logarithmic"
	}
	names := nameColumn(bars)
	s.apply(&p.X, float64(numbersWidth(bars)/(f.body.Max.X-f.body.Min.X-names)), perMS)
	p.Add(verticalGrid, paintBars(bars, s), labelX(label+" (shorter is better), and the winner's speedup"))
	if b.Roofline.FloorMS > 0 {
		p.Add(paintRoofline(b.Roofline))
	}
	p.Draw(draw.Crop(f.body, names, 0, labelRoom, -22))
	return f.writePNG(w)
}

// bars are the winner and the known baselines, from the fastest on.
func (b BestConfig) bars() []bar {
	var others []bar
	for _, name := range b.baselineNames() {
		base := b.Baselines[name]
		others = append(others, bar{name.title(), base.TimeMS, base.Speedup, muted})
	}
	slices.SortStableFunc(others, func(x, y bar) int { return cmp.Compare(x.ms, y.ms) })
	return append([]bar{{"winner: " + b.Template, b.Time.Median, 0, accent}}, others...)
}

// rowName is the style of a row's name, left of its bar.
func rowName(b bar) text.Style {
	style := typeface(10.5, b.speedup == 0, ink)
	style.XAlign = text.XRight
	return style
}

// nameColumn is the width that the rows' names take, a third of the page at most.
func nameColumn(bars []bar) vg.Length {
	width := vg.Length(0)
	for _, b := range bars {
		width = max(width, rowName(b).Width(b.name))
	}
	return min(width, figureWidth/3) + 10
}

var verticalGrid = painter(func(c draw.Canvas, p *plot.Plot) {
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		x := c.X(p.X.Norm(tick.Value))
		c.StrokeLine2(gridLine(), x, c.Min.Y, x, c.Max.Y)
	}
})

func paintBars(bars []bar, s scale) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		for i, b := range bars {
			y := c.Y(p.Y.Norm(-float64(i)))
			half := (c.Y(p.Y.Norm(1)) - c.Y(p.Y.Norm(0))) * 0.31
			end := b.ms
			broken := s.cut > 0 && end > s.cut
			if broken {
				end = s.max
			}
			x := c.X(p.X.Norm(end))
			fillRect(c, b.color, c.Min.X, y-half, x, y+half)
			if broken {
				paintBreak(c, c.X(p.X.Norm((s.cut+s.max)/2)), y, half)
			}
			name := rowName(b)
			c.FillText(name, vg.Point{X: c.Min.X - 8, Y: y}, ellipsis(b.name, name, figureWidth/3))
			paintNumbers(c, b, x+7, y)
		}
	}
}

// paintNumbers writes a bar's time and the winner's speedup over it, to its right.
func paintNumbers(c draw.Canvas, b bar, x, y vg.Length) {
	time, ratio := numberStyles(b)
	backed(c, time, vg.Point{X: x, Y: y}, formatMS(b.ms))
	if b.speedup > 0 {
		backed(c, ratio, vg.Point{X: x + time.Width(formatMS(b.ms)) + 9, Y: y}, formatSpeedup(b.speedup))
	}
}

func numberStyles(b bar) (time, ratio text.Style) {
	verdict := accent
	if b.speedup < 1 {
		verdict = bad
	}
	return typeface(10.5, b.speedup == 0, ink), typeface(10.5, true, verdict)
}

// numbersWidth is the room that the longest numbers take right of their bar.
func numbersWidth(bars []bar) vg.Length {
	width := vg.Length(0)
	for _, b := range bars {
		time, ratio := numberStyles(b)
		width = max(width, 7+time.Width(formatMS(b.ms))+9+ratio.Width(formatSpeedup(b.speedup))+4)
	}
	return width
}

// backed writes text on a white ground, so that no line runs through it.
func backed(c draw.Canvas, style text.Style, at vg.Point, s string) {
	width, height := style.Width(s), style.Font.Size
	fillRect(c, color.White, at.X-2, at.Y-height*0.6, at.X+width+2, at.Y+height*0.6)
	c.FillText(style, at, s)
}

// paintBreak cuts a bar with a slanted white band.
func paintBreak(c draw.Canvas, x, y, half vg.Length) {
	half++
	c.FillPolygon(color.White, []vg.Point{{X: x - 6, Y: y - half}, {X: x, Y: y - half}, {X: x + 6, Y: y + half}, {X: x, Y: y + half}})
}

func paintRoofline(r Roofline) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		x := c.X(p.X.Norm(r.FloorMS))
		top := c.Max.Y + 6
		c.StrokeLine2(dashed(roof), x, c.Min.Y, x, top)
		style := typeface(9.5, false, roof)
		label := fmt.Sprintf("roofline %s, %s reached", formatMS(r.FloorMS), formatPercent(r.Share))
		left := min(x, c.Max.X-style.Width(label))
		c.FillText(style, vg.Point{X: max(left, c.Min.X), Y: top + 8}, label)
	}
}

func fillRect(c draw.Canvas, fill color.Color, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}
