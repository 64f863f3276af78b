package space_test

import (
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"autotune/space"
)

var growthPlot = flag.String("growth", "", "measure how building grows with the space and plot it to this PNG")

// growing is a space of n^6 combinations whose tunables are tied together by a
// bound on threads, one on shared memory and two divisibilities.
func growing(n int64) space.Part {
	p := space.Part{Constraints: parsed("32 <= x * y <= 1024", "(x*i + 2*k) * (y*j + 2*k) * 4 <= 49152", "i % u == 0", "j % u == 0")}
	for _, name := range []string{"x", "y", "i", "j", "k", "u"} {
		p.Tunables = append(p.Tunables, space.Tunable{Name: name, Values: upTo(n)})
	}
	return p
}

// TestGrowthPlot makes docs/space-growth.png, when asked to:
//
//	go test ./space -run GrowthPlot -v -growth "$PWD/docs/space-growth.png"
func TestGrowthPlot(t *testing.T) {
	if *growthPlot == "" {
		t.Skip("-growth names no file")
	}
	var built, counted plotter.XYs
	for _, n := range []int64{4, 6, 8, 12, 16, 24, 32, 48, 64} {
		start := time.Now()
		s := must(t, growing(n))
		took := float64(time.Since(start).Microseconds()) / 1000
		t.Logf("%2d values: %12.0f combinations, %9d valid, %8d nodes, %9.3f ms", n, s.Cartesian(), s.Len(), s.Nodes(), took)
		built = append(built, plotter.XY{X: s.Cartesian(), Y: took})
		counted = append(counted, plotter.XY{X: s.Cartesian(), Y: float64(s.Nodes()) / 1000})
	}
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
			t.Fatal(err)
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
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := canvas.WriteTo(f); err != nil {
		t.Fatal(err)
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
