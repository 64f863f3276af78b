package progress

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8/decor"

	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
)

// glance is what a wide terminal shows under the line of a search: the best time so far as a small
// plot, and each template at its best. It is made once and not changed.
type glance struct {
	best      []moment // when the best became better
	templates []standing
	elapsed   time.Duration
}

type moment struct {
	at time.Duration
	ms float64
}

// standing is a template at its best.
type standing struct {
	name string
	ms   float64
}

// A terminal of so many columns shows it, in so many lines; the plot takes so many columns.
const (
	glanceColumns = 100
	glanceRows    = 4
	glanceWidth   = 48
	glanceEvery   = 400 * time.Millisecond
)

// next is the glance after more of the search.
func (g *glance) next(p tuner.Progress) *glance {
	n := &glance{elapsed: p.Elapsed}
	if g != nil {
		n.best = g.best
	}
	if p.Best != nil {
		if ms := p.Best.Time.Median; len(n.best) == 0 || ms != n.best[len(n.best)-1].ms {
			n.best = append(slices.Clip(n.best), moment{p.Elapsed, ms})
		}
	}
	for name, t := range trial.Bests(p.Trials) {
		n.templates = append(n.templates, standing{name, t.Time.Median})
	}
	slices.SortFunc(n.templates, func(a, b standing) int {
		return cmp.Or(cmp.Compare(a.ms, b.ms),
			cmp.Compare(a.name, b.name))
	})
	return n
}

// write writes the lines, where the terminal has room for them.
func (g *glance) write(w io.Writer, s decor.Statistics) error {
	if g == nil || s.AvailableWidth < glanceColumns || len(g.best) == 0 {
		return nil
	}
	for _, line := range g.lines() {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// lines are the plot with its ends, and the templates beside it.
func (g *glance) lines() []string {
	low, high := math.Inf(1), 0.0
	for _, m := range g.best {
		low, high = min(low, m.ms), max(high, m.ms)
	}
	unit := reports.UnitOf(high)
	heights := g.heights(low, high)
	lines := make([]string, glanceRows)
	for row := range lines {
		label := ""
		switch row {
		case 0:
			label = unit.Format(high)
		case glanceRows - 1:
			label = unit.Format(low)
		}
		line := fmt.Sprintf("%12s ", label)
		for _, h := range heights {
			line += part(h - (glanceRows-1-row)*eighths)
		}
		if row < len(g.templates) {
			t := g.templates[row]
			line += "  " + unit.Format(t.ms) + " " + shortened(output.Line(t.name),
				glanceColumns-utf8.RuneCountInString(line)-16)
		}
		lines[row] = strings.TrimRight(line, " ")
	}
	if more := len(g.templates) - glanceRows; more > 0 {
		lines[glanceRows-1] += fmt.Sprintf(" and %d more", more)
	}
	return lines
}

const eighths = 8

// heights are those of the plot's columns, in eighths of a line: the logarithm of the best time at
// each moment. One that is known is never empty.
func (g *glance) heights(low, high float64) []int {
	list := make([]int, glanceWidth)
	for column := range list {
		until := g.elapsed * time.Duration(column+1) / glanceWidth
		for _, m := range g.best {
			if m.at > until && column < glanceWidth-1 {
				break
			}
			list[column] = 1
			if high > low {
				list[column] += int(math.Round((glanceRows*eighths - 1) * math.Log(m.ms/low) / math.Log(high/low)))
			}
		}
	}
	return list
}

// part is a cell that is filled by so many eighths from below.
func part(filled int) string {
	return string([]rune(" ▁▂▃▄▅▆▇█")[min(eighths, max(0, filled))])
}

// shortened is a text in so many columns.
func shortened(text string, columns int) string {
	if runes := []rune(text); len(runes) > max(columns, 1) {
		return string(runes[:max(columns-1, 0)]) + "…"
	}
	return text
}
