package webpage

import (
	"fmt"
	"strings"

	"autotune/internal/output"
	"autotune/reports"
)

// Family is what a page tells of kernels for many shapes and of what chooses among them.
type Family struct {
	Title      string
	Parameters string
	Setting    string
	Verdict    string
	Dimensions []string // that differ from shape to shape
	Entries    []string // the kernels
	Tree       string   // the choice among them, in lines
	Conditions []string // of the choice, as "n*h <= 4096"
	LeftOut    []string // shapes without measurements, and why
	Shapes     []Shape
	Most       float64  // the slowdown that was asked for
	Commands   []string // that go on from here
}

// Shape is a shape at which the kernels of a family were timed.
type Shape struct {
	Text     string
	At       []int64 // by dimension
	Entry    int     // that is chosen; -1: the general kernel
	BestMS   float64 // of the fastest kernel, those made for the shape among them
	Slowdown float64 // of the chosen one against that
	General  float64 // likewise of the general kernel; 0: it was not timed
	HeldOut  bool    // the choice was not made from it
}

// Best is the time of the fastest kernel in words.
func (s Shape) Best() string { return reports.FormatMS(s.BestMS) }

// Served says at how many shapes an entry is chosen, and how it does there at worst.
func (f Family) Served(entry int) string {
	count, worst := 0, 0.0
	for _, s := range f.Shapes {
		if s.Entry == entry {
			count, worst = count+1, max(worst, s.Slowdown)
		}
	}
	if count == 0 {
		return "none"
	}
	return fmt.Sprintf("%d (%.3f)", count, worst)
}

// familyView is a family as the page's template has it.
type familyView struct {
	Family
	ID string
}

// familyData is a family as the page's script reads it.
type familyData struct {
	Dimensions []string    `json:"dimensions"`
	Conditions []string    `json:"conditions"`
	Entries    []string    `json:"entries"`
	Shapes     []shapeData `json:"shapes"`
}

type shapeData struct {
	Text     string  `json:"text"`
	At       []int64 `json:"at"`
	Entry    int     `json:"entry"`
	Best     string  `json:"best"`
	Slowdown float64 `json:"slowdown"`
	HeldOut  bool    `json:"held_out"`
}

// Lines is the tree with its indents, whatever the names in it hold.
func (f familyView) Lines() string {
	lines := strings.Split(f.Tree, "\n")
	for i, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = line[:indent] + output.Line(line)
	}
	return strings.Join(lines, "\n")
}

func familyDataOf(f Family) familyData {
	d := familyData{Dimensions: []string{}, Conditions: []string{}, Entries: []string{}, Shapes: []shapeData{}}
	for _, condition := range f.Conditions {
		d.Conditions = append(d.Conditions, output.Line(condition))
	}
	for _, name := range f.Dimensions {
		d.Dimensions = append(d.Dimensions, output.Line(name))
	}
	for _, entry := range f.Entries {
		d.Entries = append(d.Entries, output.Line(entry))
	}
	for _, s := range f.Shapes {
		d.Shapes = append(d.Shapes, shapeData{output.Line(s.Text), s.At, s.Entry, s.Best(), brief(s.Slowdown), s.HeldOut})
	}
	return d
}
