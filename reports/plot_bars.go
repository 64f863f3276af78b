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

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/tuner/bestconfig"
	"autotune/tuner/torchtimes"
)

// barChart is a plot with rows of horizontal bars, and one vertical line through all rows.
type barChart struct {
	axis   string
	end    float64 // the end of the axis, which begins at 0
	rows   []barRow
	high   vg.Length // the height of a row
	line   float64   // position of the line, or 0 for no line
	style  draw.LineStyle
	about  string   // explains the line
	series []series // the meaning of the bars' colours
}

// barRow is a row of a bar chart: its name, a note below the name, and its bars. bold emphasizes the row's name.
type barRow struct {
	name, note string
	bold       bool
	bars       []bar
}

// bar is a horizontal bar of a chart, with texts behind its end.
type bar struct {
	value float64
	color color.Color
	texts []words
}

type words struct {
	text  string
	style text.Style
}

// barWidth is the width of one bar; a row has one or two bars.
const barWidth, barGap = vg.Length(15), vg.Length(2)

func (c barChart) draw(body draw.Canvas) {
	p := newPlot(c.axis, "")
	p.HideY()
	p.Y.Padding = 0
	p.Y.Min, p.Y.Max = 0.5-float64(len(c.rows)), 0.5
	p.X.Min, p.X.Max = 0, c.end
	p.Add(&plotter.Grid{Vertical: gridLine()})
	var list tags
	for i, row := range c.rows {
		list = append(list, row.names(-float64(i))...)
		for k, b := range row.bars {
			offset := (barWidth + barGap) * (vg.Length(len(row.bars)-1)/2 - vg.Length(k))
			end := min(b.value, c.end)
			p.Add(&plotter.BarChart{
				Values: plotter.Values{end}, Width: barWidth, Offset: offset, Color: b.color, XMin: -float64(i), Horizontal: true,
			})
			if b.value > c.end {
				b.texts = append(b.texts, words{"beyond the scale", typeface(9.5, false, faint)})
			}
			// A bar's texts begin to the right of the vertical line if they would otherwise cross it.
			if end < c.line && c.line-end < c.end/4 {
				end = c.line
			}
			x := vg.Length(7)
			for _, w := range b.texts {
				list = append(list, tag{end, -float64(i), vg.Point{X: x, Y: offset}, w.style, w.text})
				x += 9 + w.style.Width(w.text)
			}
		}
	}
	if c.line > 0 {
		p.Add(straight(c.style, c.line, p.Y.Min, c.line, p.Y.Max))
		style := typeface(9.5, false, c.style.Color)
		if style.YAlign = text.YBottom; c.line > c.end/2 {
			style.XAlign = text.XRight
		}
		list = append(list, tag{c.line, p.Y.Max, vg.Point{Y: 4}, style, c.about})
	}
	p.Add(list)
	legend := newLegend()
	for _, s := range c.series {
		legend.Add("over "+s.title, &plotter.BarChart{Color: s.color})
	}
	legend.Draw(body)
	p.Draw(draw.Crop(body, 0, 0, 0, -4-17*vg.Length(len(c.series))))
}

// names returns the texts for a row's name and for the note below it.
func (r barRow) names(y float64) tags {
	name, small := typeface(10.5, r.bold, ink), typeface(8.5, false, faint)
	name.XAlign, small.XAlign = text.XRight, text.XRight
	notes := wrap(r.note, small, figureWidth/3)
	top := vg.Length(len(notes)) * 5.5
	list := tags{{0, y, vg.Point{X: -8, Y: top}, name, ellipsis(r.name, name, figureWidth/3)}}
	for i, line := range notes {
		list = append(list, tag{0, y, vg.Point{X: -8, Y: top - 13 - 11*vg.Length(i)}, small, line})
	}
	return list
}

// SpeedupPlot writes a PNG with the times of winner, baselines and roofline, and the speedup over each baseline.
func SpeedupPlot(w io.Writer, b bestconfig.Document) error {
	if !b.Found() {
		return errors.New("nothing to plot: the search found no valid variant")
	}
	rows, r, u := comparedIn(b), b.Roofline, unitOf(b)
	times := lists.Of(rows, func(c compared) float64 { return c.ms })
	if err := trial.CheckMS(times...); err != nil {
		return err
	}
	chart := barChart{
		axis: "time of a launch, " + u.Name + " (shorter is better), and the winner's speedup",
		end:  u.PerMS * ending(times), high: 36,
	}
	if r.FloorMS > 0 {
		rows = rows[:len(rows)-1]
		chart.line, chart.style = u.PerMS*r.FloorMS, dashed(roof)
		chart.about = fmt.Sprintf("roofline %s, %s reached", u.Format(r.FloorMS), formatPercent(r.Share))
	}
	slices.SortStableFunc(rows[1:], func(x, y compared) int { return cmp.Compare(x.ms, y.ms) })
	for i, c := range rows {
		row := barRow{name: c.name, bars: []bar{{u.PerMS * c.ms, muted, []words{{c.time, typeface(10.5, i == 0, ink)}}}}}
		one := &row.bars[0]
		if i == 0 {
			row.name, row.bold, one.color = "winner: "+output.Line(b.Template), true, accent
			if tied := len(b.Ties) - 1; tied > 0 {
				one.texts = append(one.texts, words{"tied with " + output.Count(tied, "other"), typeface(9.5, false, faint)})
			}
		}
		if c.speedup > 0 {
			verdict := accent
			if c.speedup < 1 {
				verdict = bad
			}
			one.texts = append(one.texts, words{c.times, typeface(10.5, true, verdict)})
		}
		chart.rows = append(chart.rows, row)
	}
	return chart.write(w, Title(b), strings.Join(parametersOf(b), "  "), settingOf(b))
}

func (c barChart) write(w io.Writer, title string, lines ...string) error {
	f := newFigure(c.high*vg.Length(len(c.rows))+17*vg.Length(len(c.series))+78, title, lines...)
	c.draw(f.body)
	return f.writePNG(w)
}

// mostSpeedup is the largest ratio of two times that can be a real speedup.
const mostSpeedup = 1e9

type series struct {
	name, title string
	color       color.Color
}

// SummaryPlot writes a PNG with a row for each problem: the winner's speedups over PyTorch eager and torch.compile,
// and its share of the roofline as text. If PyTorch was never measured, the speedups are those over the untuned
// default.
func SummaryPlot(w io.Writer, list []bestconfig.Document) error {
	list = lists.Where(list, bestconfig.Document.Found)
	if len(list) == 0 {
		return errors.New("nothing to plot: no problem has a winner")
	}
	chart := barChart{
		axis: "speedup (higher is better)", high: 56, line: 1,
		style: draw.LineStyle{Color: ink, Width: vg.Points(1)},
	}
	known := speedupsKnown(list)
	for _, s := range []series{
		{name: torchtimes.Eager, color: second}, {name: torchtimes.Compile, color: muted},
		{name: bestconfig.Default, color: accent},
	} {
		if slices.Contains(known, s.name) && (s.name != bestconfig.Default || len(chart.series) == 0) {
			s.title, _ = bestconfig.Titles(s.name)
			chart.series = append(chart.series, s)
		}
	}
	values := []float64{1}
	for _, b := range list {
		row := barRow{name: Title(b), bold: true}
		row.note = joined(" ", strings.Join(parametersOf(b), " "), b.Conditions.Unusual())
		if b.Roofline.Share > 0 {
			row.note = formatPercent(b.Roofline.Share) + " of the roofline; " + row.note
		}
		for _, s := range chart.series {
			speedup := b.Baselines[s.name].Speedup
			if speedup > mostSpeedup || speedup > 0 && speedup < 1/mostSpeedup {
				return fmt.Errorf("%s: %g is no speedup over %s", Title(b), speedup, s.title)
			}
			text := words{bestconfig.FormatSpeedup(speedup), typeface(9.5, true, ink)}
			if speedup > 0 {
				values = append(values, speedup)
			} else {
				text = words{"not compared", typeface(9.5, false, faint)}
			}
			row.bars = append(row.bars, bar{max(0, speedup), s.color, []words{text}})
		}
		chart.rows = append(chart.rows, row)
	}
	chart.end = ending(values)
	settings := lists.Of(list, settingOf)
	slices.Sort(settings)
	origin := settings[0]
	if len(slices.Compact(settings)) > 1 {
		origin = fmt.Sprintf("%d problems on several devices or days", len(list))
	}
	return chart.write(w, "Fastest kernels found", origin)
}
