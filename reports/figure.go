package reports

import (
	"image/color"
	"io"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"autotune/internal/lists"
)

// Sizes, colours and typefaces that all plots share.
const (
	figureWidth = 9 * vg.Inch
	figureDPI   = 200 // 1800 pixels wide
	margin      = 0.32 * vg.Inch
)

var (
	ink     = color.NRGBA{0x20, 0x25, 0x2b, 0xff}
	faint   = color.NRGBA{0x6a, 0x73, 0x7d, 0xff}
	gridCol = color.NRGBA{0xe6, 0xe9, 0xec, 0xff}
	accent  = color.NRGBA{0x0b, 0x7a, 0x75, 0xff} // the winner
	muted   = color.NRGBA{0xa9, 0xb8, 0xc6, 0xff} // the baselines
	second  = color.NRGBA{0x5b, 0x8d, 0xc9, 0xff}
	roof    = color.NRGBA{0xd9, 0x6b, 0x1d, 0xff}
	bad     = color.NRGBA{0xc0, 0x39, 0x2b, 0xff}
)

func gridLine() draw.LineStyle { return draw.LineStyle{Color: gridCol, Width: vg.Points(0.7)} }

func dashed(c color.Color) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(1.3), Dashes: []vg.Length{vg.Points(4), vg.Points(3)}}
}

func typeface(size float64, bold bool, c color.Color) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: c, Font: f, Handler: plot.DefaultTextHandler, YAlign: text.YCenter}
}

// figure is a page with a heading and space for plots below it.
type figure struct {
	image *vgimg.Canvas
	body  draw.Canvas // the space below the heading, within the margins
}

// newFigure draws a title and lines of smaller text below it. bodyHeight is the height of the figure below the
// heading.
func newFigure(bodyHeight vg.Length, title string, lines ...string) figure {
	width := figureWidth - 2*margin
	small := typeface(9.5, false, faint)
	var wrapped []string
	for _, line := range lines {
		wrapped = append(wrapped, wrap(line, small, width)...)
	}
	const titleHeight, lineHeight = vg.Length(24), vg.Length(14.5)
	heading := titleHeight + lineHeight*vg.Length(len(wrapped)) + vg.Points(12)
	height := heading + bodyHeight + 2*margin
	img := vgimg.NewWith(vgimg.UseWH(figureWidth, height), vgimg.UseDPI(figureDPI), vgimg.UseBackgroundColor(color.White))
	page := draw.New(img)

	big := typeface(16, true, ink)
	y := height - margin - titleHeight/2
	page.FillText(big, vg.Point{X: margin, Y: y}, ellipsis(title, big, width))
	y -= titleHeight/2 + lineHeight/2 + 1
	for _, line := range wrapped {
		page.FillText(small, vg.Point{X: margin, Y: y}, line)
		y -= lineHeight
	}
	return figure{image: img, body: draw.Crop(page, margin, -margin, margin, -margin-heading)}
}

func (f figure) writePNG(w io.Writer) error {
	_, err := vgimg.PngCanvas{Canvas: f.image}.WriteTo(w)
	return err
}

// wrap breaks a text between words into at most two lines.
func wrap(s string, style text.Style, width vg.Length) []string {
	lines := wrapped(strings.Fields(s), func(line string) bool { return style.Width(line) <= width })
	if len(lines) > 2 {
		lines = []string{lines[0], strings.Join(lines[1:], " ")}
	}
	for i := range lines {
		lines[i] = ellipsis(lines[i], style, width)
	}
	return lines
}

func ellipsis(s string, style text.Style, width vg.Length) string {
	runes := []rune(s)
	for n := len(runes) - 1; n >= 0 && style.Width(s) > width; n-- {
		s = string(runes[:n]) + "…"
	}
	return s
}

// newPlot makes an empty plot in the style of this package, with labels for its axes.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle = draw.LineStyle{Color: faint, Width: vg.Points(0.8)}
		axis.Tick.LineStyle = axis.LineStyle
		axis.Tick.Length, axis.Padding, axis.Label.Padding = vg.Points(4), vg.Points(4), vg.Points(6)
		axis.Tick.Label = restyled(axis.Tick.Label, 9, faint)
		axis.Label.TextStyle = restyled(axis.Label.TextStyle, 9.5, ink)
	}
	return p
}

// restyled returns this package's typeface with the alignment of another style.
func restyled(style text.Style, size float64, c color.Color) text.Style {
	s := typeface(size, false, c)
	s.XAlign, s.YAlign = style.XAlign, style.YAlign
	return s
}

func straight(style draw.LineStyle, x0, y0, x1, y1 float64) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}}, LineStyle: style}
}

// tag is a text next to a point of a plot.
type tag struct {
	x, y  float64
	shift vg.Point
	style text.Style
	text  string
}

// tags draws texts on a white background, so that no line runs through them, and makes the plot leave space for them.
type tags []tag

func (list tags) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, t := range list {
		at := vg.Point{X: x(t.x), Y: y(t.y)}.Add(t.shift)
		box := t.style.Rectangle(t.text).Add(at)
		left, right := box.Min.X-2, box.Max.X+2
		c.FillPolygon(color.White, []vg.Point{
			{X: left, Y: box.Min.Y}, {X: right, Y: box.Min.Y}, {X: right, Y: box.Max.Y}, {X: left, Y: box.Max.Y},
		})
		c.FillText(t.style, at, t.text)
	}
}

func (list tags) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	return lists.Of(list, func(t tag) plot.GlyphBox {
		return plot.GlyphBox{X: p.X.Norm(t.x), Y: p.Y.Norm(t.y), Rectangle: t.style.Rectangle(t.text).Add(t.shift)}
	})
}

// newLegend makes a legend at the top left of a canvas, with one mark below the other.
func newLegend() plot.Legend {
	l := plot.NewLegend()
	l.TextStyle = typeface(9.5, false, ink)
	l.TextStyle.YAlign = text.YBottom
	l.Left, l.Top, l.ThumbnailWidth, l.Padding = true, true, 18, 5
	return l
}

// manyTimes is how many times the smallest value may fit on an axis, so that it can still be seen.
const manyTimes = 10

// ending returns where an axis from 0 should end, so that values far above the smallest one do not hide it.
func ending(values []float64) float64 {
	low := slices.Min(values)
	if slices.Max(values) <= manyTimes*low {
		return slices.Max(values)
	}
	return max(4*low, 1.6*slices.Max(lists.Where(values, func(x float64) bool { return x <= manyTimes*low })))
}
