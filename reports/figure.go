package reports

import (
	"cmp"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// What the plots have in common: size, colours, type.
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
	muted   = color.NRGBA{0xa9, 0xb8, 0xc6, 0xff} // what it is compared with
	second  = color.NRGBA{0x5b, 0x8d, 0xc9, 0xff}
	roof    = color.NRGBA{0xd9, 0x6b, 0x1d, 0xff}
	bad     = color.NRGBA{0xc0, 0x39, 0x2b, 0xff}
)

// gridLine and the others are functions, so that no plot can change another's.
func gridLine() draw.LineStyle { return draw.LineStyle{Color: gridCol, Width: vg.Points(0.7)} }

func dashed(c color.Color) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(1.3), Dashes: []vg.Length{vg.Points(4), vg.Points(3)}}
}

// typeface is the one type of all text; bold where it must be seen first.
func typeface(size float64, bold bool, c color.Color) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return text.Style{Color: c, Font: f, Handler: plot.DefaultTextHandler, YAlign: text.YCenter}
}

// figure is a page with a heading and room below it.
type figure struct {
	image *vgimg.Canvas
	body  draw.Canvas // below the heading, within the margins
}

// newFigure draws the heading: a title, then lines of smaller text. bodyHeight
// is what is left for the rest.
func newFigure(bodyHeight vg.Length, title string, lines ...string) figure {
	width := figureWidth - 2*margin
	small := typeface(9.5, false, faint)
	var wrapped []string
	for _, line := range lines {
		wrapped = append(wrapped, wrap(line, small, width, 2)...)
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

// writePNG writes the page.
func (f figure) writePNG(w io.Writer) error {
	_, err := vgimg.PngCanvas{Canvas: f.image}.WriteTo(w)
	return err
}

// wrap breaks text between words into at most that many lines.
func wrap(s string, style text.Style, width vg.Length, most int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		longer := strings.TrimLeft(line+" "+word, " ")
		if line != "" && style.Width(longer) > width && len(lines) < most-1 {
			lines, line = append(lines, line), word
			continue
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, ellipsis(line, style, width))
	}
	return lines
}

// ellipsis shortens text to a width.
func ellipsis(s string, style text.Style, width vg.Length) string {
	if style.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	fits := func(n int) bool { return style.Width(string(runes[:n])+"…") <= width }
	for n := len(runes) - 1; n > 0; n-- {
		if fits(n) {
			return string(runes[:n]) + "…"
		}
	}
	return "…"
}

// newPlot is an empty plot in our style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle = draw.LineStyle{Color: faint, Width: vg.Points(0.8)}
		axis.Tick.LineStyle = axis.LineStyle
		axis.Tick.Length = vg.Points(4)
		labels := axis.Tick.Label
		axis.Tick.Label = typeface(9, false, faint)
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = labels.XAlign, labels.YAlign
		axis.Padding = vg.Points(4)
	}
	return p
}

// hideY takes away the Y axis, for rows that have names instead of numbers.
func hideY(p *plot.Plot) {
	p.Y.Padding = 0
	p.Y.LineStyle.Width = 0
	p.Y.Tick.LineStyle.Width = 0
	p.Y.Tick.Length = 0
	p.Y.Tick.Marker = plot.ConstantTicks(nil)
}

// labelRoom is what an axis takes for its label. The axes' own labels are not
// used: on a logarithmic axis they push the axis away from its end.
const labelRoom = vg.Length(17)

// labelX writes a label below the X axis.
func labelX(label string) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		style := typeface(9.5, false, ink)
		style.XAlign = text.XCenter
		c.FillText(style, vg.Point{X: c.Center().X, Y: c.Min.Y - tickRoom(p.X) - p.X.Tick.Label.Font.Size - 9}, label)
	}
}

// labelY writes a label beside the Y axis, upwards.
func labelY(label string) painter {
	return func(c draw.Canvas, p *plot.Plot) {
		width := vg.Length(0)
		for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			width = max(width, p.Y.Tick.Label.Width(tick.Label))
		}
		style := typeface(9.5, false, ink)
		style.XAlign = text.XCenter
		style.Rotation = math.Pi / 2
		c.FillText(style, vg.Point{X: c.Min.X - tickRoom(p.Y) - width - 11, Y: c.Center().Y}, label)
	}
}

// tickRoom is between the data and the ticks' labels.
func tickRoom(a plot.Axis) vg.Length { return a.Padding + a.Tick.Length }

// markDrop lowers a mark to the middle of the small letters of the text beside it.
const markDrop = vg.Length(1.2)

// painter is a plotter made of a function.
type painter func(draw.Canvas, *plot.Plot)

func (f painter) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// note is a text beside a plot at a height that it would like to have.
type note struct {
	y     vg.Length
	text  string
	style text.Style
}

// spread moves notes apart so that none overlaps another, keeping their order
// and all of them between bottom and top.
func spread(notes []note, gap, bottom, top vg.Length) {
	slices.SortStableFunc(notes, func(a, b note) int { return cmp.Compare(a.y, b.y) })
	for i := range notes {
		low := bottom
		if i > 0 {
			low = notes[i-1].y + gap
		}
		notes[i].y = max(notes[i].y, low)
	}
	high := top
	for i := len(notes) - 1; i >= 0 && notes[i].y > high; i-- {
		notes[i].y = high
		high -= gap
	}
}
