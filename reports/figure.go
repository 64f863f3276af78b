package reports

import (
	"cmp"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
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
	"autotune/internal/output"
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
	return text.Style{Color: c, Font: f, Handler: harmless{plot.DefaultTextHandler}, YAlign: text.YCenter}
}

// harmless draws every text as one line, whoever wrote it: a line break or an
// escape in a name must not change a plot's look.
type harmless struct{ text.Handler }

// oneLine keeps a lone blank, since plots measure it for the gaps beside their labels.
func oneLine(s string) string {
	if s == " " {
		return s
	}
	return output.Line(s)
}

func (h harmless) Lines(s string) []string { return h.Handler.Lines(oneLine(s)) }

func (h harmless) Box(s string, f font.Font) (width, height, depth vg.Length) {
	return h.Handler.Box(oneLine(s), f)
}

func (h harmless) Draw(c vg.Canvas, s string, style text.Style, at vg.Point) {
	h.Handler.Draw(c, oneLine(s), style, at)
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

// wrap breaks text between words into at most two lines.
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

// ellipsis shortens text to a width.
func ellipsis(s string, style text.Style, width vg.Length) string {
	runes := []rune(s)
	for n := len(runes) - 1; n >= 0 && style.Width(s) > width; n-- {
		s = string(runes[:n]) + "…"
	}
	return s
}

// newPlot is an empty plot in our style, with labels for its axes.
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

// restyled is our type with a style's alignment.
func restyled(style text.Style, size float64, c color.Color) text.Style {
	s := typeface(size, false, c)
	s.XAlign, s.YAlign = style.XAlign, style.YAlign
	return s
}

// straight is a line between two points.
func straight(style draw.LineStyle, x0, y0, x1, y1 float64) *plotter.Line {
	return &plotter.Line{XYs: plotter.XYs{{X: x0, Y: y0}, {X: x1, Y: y1}}, LineStyle: style}
}

// tag is a text beside a point of a plot.
type tag struct {
	x, y  float64
	shift vg.Point
	style text.Style
	text  string
}

// tags are drawn on white, so that no line runs through them. The plot makes
// room for them.
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

// GlyphBoxes says how much room the tags take.
func (list tags) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	return lists.Of(list, func(t tag) plot.GlyphBox {
		return plot.GlyphBox{X: p.X.Norm(t.x), Y: p.Y.Norm(t.y), Rectangle: t.style.Rectangle(t.text).Add(t.shift)}
	})
}

// newLegend explains marks below each other, from the top left of a canvas on.
func newLegend() plot.Legend {
	l := plot.NewLegend()
	l.TextStyle = typeface(9.5, false, ink)
	l.TextStyle.YAlign = text.YBottom
	l.Left, l.Top, l.ThumbnailWidth, l.Padding = true, true, 18, 5
	return l
}

// scale places the numbers of an axis, linearly or by their logarithm. Its low
// end is at 0 either way, which is where bars begin.
type scale struct {
	log       bool
	low, high float64 // the ends of the axis
}

// at is the place of x on the axis; what is beyond the axis is at its end.
func (s scale) at(x float64) float64 {
	if x = min(x, s.high); s.log {
		return math.Log10(x) - math.Log10(s.low)
	}
	return x - s.low
}

// label is an axis' label, which says if the scale is logarithmic.
func (s scale) label(what string) string {
	if s.log {
		return what + ", logarithmic"
	}
	return what
}

// apply gives an axis the scale. The ticks' numbers are the values times unit.
func (s scale) apply(axis *plot.Axis, unit float64) {
	axis.Min, axis.Max = 0, s.at(s.high)
	values := linearTicks
	if s.log {
		values = logTicks
	}
	numbers := values(s.low*unit, s.high*unit)
	axis.Tick.Marker = plot.ConstantTicks(lists.Of(numbers, func(x float64) plot.Tick {
		return plot.Tick{Value: s.at(x / unit), Label: tickLabel(x)}
	}))
}

// manyTimes is the ratio beyond which small values cannot be seen on a linear axis.
const manyTimes = 10

// barScale is a linear scale for bars. It ends before bars that dwarf the shortest one.
func barScale(values []float64) scale {
	low := slices.Min(values)
	if slices.Max(values) <= manyTimes*low {
		return scale{high: slices.Max(values)}
	}
	seen := lists.Where(values, func(x float64) bool { return x <= manyTimes*low })
	return scale{high: max(4*low, 1.6*slices.Max(seen))}
}

// dotScale is a scale for dots: it need not begin at zero, and is logarithmic
// when the slow ones would press the fast ones together.
func dotScale(low, high float64) scale {
	if high > 4*low {
		return scale{log: true, low: low * math.Pow(high/low, -0.06), high: high * math.Pow(high/low, 0.08)}
	}
	pad := cmp.Or((high-low)*0.16, high*0.05)
	return scale{low: max(0, low-pad/2), high: high + pad}
}

// linearTicks are four to nine round numbers between low and high.
func linearTicks(low, high float64) []float64 {
	if !(high > low) {
		return []float64{low}
	}
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	switch span := (high - low) / step; {
	case span < 2:
		step /= 5
	case span < 4:
		step /= 2
	}
	var ticks []float64
	// Counted in whole steps, so that no rounding error adds up.
	for i := max(0, math.Ceil(low/step-1e-9)); i*step <= high*(1+1e-9); i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// logTicks are 1, 2 and 5 of each decade between low and high. Over more than three
// decades they are powers of ten alone. In less than half a decade they are linear.
func logTicks(low, high float64) []float64 {
	decades := math.Log10(high / low)
	if decades < 0.5 {
		return linearTicks(low, high)
	}
	digits, every := []float64{1, 2, 5}, 1.0
	if decades > 3 {
		digits, every = digits[:1], math.Ceil(decades/8)
	}
	var ticks []float64
	for power := math.Floor(math.Log10(low)); power <= math.Log10(high); power += every {
		for _, digit := range digits {
			if x := digit * math.Pow(10, power); x >= low*(1-1e-9) && x <= high*(1+1e-9) {
				ticks = append(ticks, x)
			}
		}
	}
	return ticks
}

// tickLabel writes an axis' number, a large or small one with a power of ten. Six digits leave out the error of the
// arithmetic.
func tickLabel(x float64) string {
	return strings.NewReplacer("e+0", "e", "e-0", "e-", "e+", "e").Replace(strconv.FormatFloat(x, 'g', 6, 64))
}
