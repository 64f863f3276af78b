package space_test

import (
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"strconv"
	"testing"

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
			for b.Loop() {
				s = must(b, p)
			}
			b.ReportMetric(float64(s.Len()), "valid")
			b.ReportMetric(s.Cartesian(), "combinations")
			b.ReportMetric(float64(s.Nodes()), "nodes")
			took := float64(b.Elapsed().Microseconds()) / 1000 / float64(b.N)
			built = append(built, plotter.XY{X: s.Cartesian(), Y: took})
			counted = append(counted, plotter.XY{X: s.Cartesian(), Y: float64(s.Nodes()) / 1000})
		})
	}
	if *growthPlot != "" {
		plotGrowth(b, built, counted)
	}
}

func plotGrowth(b *testing.B, built, counted plotter.XYs) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Padding, p.Legend.Padding = vg.Points(8), vg.Points(4)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding, a.Label.Padding, a.Tick.Length = vg.Points(6), vg.Points(6), 0
	}
	p.Legend.XOffs = vg.Points(10)
	p.Title.Text = "Building a space of six tunables tied by four constraints"
	p.X.Label.Text, p.Y.Label.Text = "combinations", "milliseconds; thousands of nodes"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades(3, 11), decades(-3, 4)
	p.Legend.Top, p.Legend.Left = true, true
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{Y: 225}, color.Gray{Y: 225}
	p.Add(grid)
	for i, series := range []struct {
		name string
		xys  plotter.XYs
	}{{"milliseconds to build", built}, {"thousands of diagram nodes kept", counted}} {
		line, points, err := plotter.NewLinePoints(series.xys)
		if err != nil {
			b.Fatal(err)
		}
		line.Width = vg.Points(2)
		line.Color = []color.Color{color.RGBA{R: 12, G: 122, B: 115, A: 255}, color.RGBA{R: 93, G: 142, B: 201, A: 255}}[i]
		points.Color, points.Radius = line.Color, vg.Points(3)
		points.Shape = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}}[i]
		p.Add(line, points)
		p.Legend.Add(series.name, line, points)
		if i == 1 {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
	}
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(8*vg.Inch, 5*vg.Inch), vgimg.UseDPI(200))}
	p.Draw(draw.Crop(draw.New(canvas), 12, -12, 12, -12))
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
		x := math.Pow10(e)
		label := strconv.FormatFloat(x, 'f', -1, 64)
		if e > 4 {
			label = fmt.Sprintf("1e%d", e)
		}
		ticks = append(ticks, plot.Tick{Value: x, Label: label})
	}
	return ticks
}
