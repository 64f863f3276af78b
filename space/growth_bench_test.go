package space_test

import (
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"syscall"
	"testing"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"autotune/space"
)

var growthPlot = flag.String("growth", "", "the PNG that BenchmarkGrowth plots what it measured to")

// growing is a space of n^6 combinations whose tunables are tied together by a
// bound on threads, one on shared memory and two divisibilities.
func growing(n int64) space.Part {
	p := space.Part{Constraints: parsed("32 <= x * y <= 1024", "(x*i + 2*k) * (y*j + 2*k) * 4 <= 49152", "i % u == 0", "j % u == 0")}
	for _, name := range []string{"x", "y", "i", "j", "k", "u"} {
		p.Tunables = append(p.Tunables, space.Tunable{Name: name, Values: upTo(n)})
	}
	return p
}

// BenchmarkGrowth shows what building takes as the combinations grow. It also
// makes docs/space-growth.png, when asked to:
//
//	go test ./space -run '^$' -bench Growth -growth "$PWD/docs/space-growth.png"
func BenchmarkGrowth(b *testing.B) {
	var built, counted plotter.XYs
	for _, n := range []int64{4, 6, 8, 12, 16, 24, 32, 48, 64} {
		p := growing(n)
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var s *space.Space
			began := processorMS(b)
			for b.Loop() {
				s = must(b, p)
			}
			took := (processorMS(b) - began) / float64(b.N)
			b.ReportMetric(took, "processor-ms/op")
			b.ReportMetric(float64(s.Len()), "valid")
			b.ReportMetric(s.Cartesian(), "combinations")
			b.ReportMetric(float64(s.Nodes()), "nodes")
			built = append(built, plotter.XY{X: s.Cartesian(), Y: took})
			counted = append(counted, plotter.XY{X: s.Cartesian(), Y: float64(s.Nodes())})
		})
	}
	if *growthPlot != "" {
		plotGrowth(b, built, counted)
	}
}

// processorMS is the processor time that this process has taken: other work on the machine does not change it much.
func processorMS(b *testing.B) float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}

// plotGrowth draws a panel a quantity above one axis of combinations.
func plotGrowth(b *testing.B, built, counted plotter.XYs) {
	text := func(size float64, weight xfont.Weight, c color.Color) draw.TextStyle {
		return draw.TextStyle{Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size), Weight: weight}, Handler: plot.DefaultTextHandler}
	}
	ink, faint := color.Gray{Y: 0x25}, color.Gray{Y: 0x72}
	panel := func(what string, xys plotter.XYs, c color.Color, from, to int) *plot.Plot {
		p := plot.New()
		p.Y.Label.Text, p.Y.Tick.Marker = what, decades(from, to)
		p.Y.Min, p.Y.Max = float64(from), float64(to)
		p.X.Label.Text, p.X.Tick.Marker = "combinations, logarithmic", decades(4, 10)
		for _, a := range []*plot.Axis{&p.X, &p.Y} {
			a.Padding, a.Label.Padding = vg.Points(4), vg.Points(6)
			a.LineStyle.Color, a.Tick.LineStyle.Color, a.Tick.Length = faint, faint, vg.Points(4)
			label, tick := text(9.5, xfont.WeightNormal, ink), text(9, xfont.WeightNormal, faint)
			label.XAlign, label.YAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
			tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
			a.Label.TextStyle, a.Tick.Label = label, tick
		}
		grid := plotter.NewGrid()
		grid.Horizontal.Color, grid.Vertical.Color = color.Gray{Y: 0xe8}, color.Gray{Y: 0xe8}
		powers := make(plotter.XYs, len(xys)) // of ten
		for i, at := range xys {
			powers[i] = plotter.XY{X: math.Log10(at.X), Y: math.Log10(at.Y)}
		}
		line, points, err := plotter.NewLinePoints(powers)
		if err != nil {
			b.Fatal(err)
		}
		line.Width, line.Color = vg.Points(2), c
		points.Color, points.Radius, points.Shape = c, vg.Points(3), draw.CircleGlyph{}
		p.Add(grid, line, points)
		return p
	}
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(9*vg.Inch, 6.4*vg.Inch), vgimg.UseDPI(200))}
	page := draw.Crop(draw.New(canvas), 23, -23, 23, -23)
	page.FillText(text(16, xfont.WeightBold, ink), vg.Point{X: page.Min.X, Y: page.Max.Y - 18}, "Building a space of six tunables tied by four constraints")
	tiles, room := draw.Tiles{Rows: 2, Cols: 1, PadY: vg.Points(14)}, draw.Crop(page, 0, 0, 0, -40)
	panel("processor time, ms, logarithmic", built, color.RGBA{R: 0x0b, G: 0x7a, B: 0x75, A: 255}, -1, 4).Draw(tiles.At(room, 0, 0))
	panel("diagram nodes kept, logarithmic", counted, color.RGBA{R: 0x5b, G: 0x8d, B: 0xc9, A: 255}, 0, 5).Draw(tiles.At(room, 0, 1))
	f, err := os.Create(*growthPlot)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := canvas.WriteTo(f); err != nil {
		b.Fatal(err)
	}
}

// decades are ticks at powers of ten.
func decades(from, to int) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for e := from; e <= to; e++ {
		ticks = append(ticks, plot.Tick{Value: float64(e), Label: fmt.Sprintf("1e%d", e)})
	}
	return ticks
}
