// Package webpage writes searches and families as one HTML page that needs no other file: with the text that commands
// print and the plots that they draw. The page has no scripts, and its content security policy allows only its own
// style and pictures, so nothing that a recording contains can run.
package webpage

import (
	"bytes"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner/bestconfig"
	"autotune/tuner/explain"
	"autotune/tuner/family"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

type Search struct {
	Best     bestconfig.Document
	Trials   []trial.Trial // empty if there is only the document
	Failures []reports.Failure
	Why      explain.Explanation // empty if it is not known
}

type Page struct {
	Searches []Search
	Families []*family.Family
}

// section is the part of the page about one search or one family.
type section struct {
	Heading string
	Plots   []picture
	Blocks  []block
}

type picture struct {
	About string
	Data  template.URL
}

type block struct{ Heading, Text string }

func (p Page) Write(w io.Writer) error {
	var sections []section
	for _, s := range p.Searches {
		one, err := s.section()
		if err != nil {
			return fmt.Errorf("page: %w", err)
		}
		sections = append(sections, one)
	}
	for _, f := range p.Families {
		var text strings.Builder
		if err := f.WriteText(output.Plain(&text)); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		heading := output.Line(f.Operator + " " + f.Shapes)
		sections = append(sections, section{Heading: heading, Blocks: []block{{Text: text.String()}}})
	}
	var summary strings.Builder
	if len(p.Searches) > 1 {
		bests := lists.Of(p.Searches, func(s Search) bestconfig.Document { return s.Best })
		if err := reports.SummaryTable(&summary, bests, 0); err != nil {
			return fmt.Errorf("page: %w", err)
		}
	}
	title := output.Count(len(p.Searches), "search") + ", " + output.Count(len(p.Families), "family")
	if len(sections) == 1 {
		title = sections[0].Heading
	}
	return page.Execute(w, map[string]any{"Title": title, "Summary": summary.String(), "Sections": sections})
}

func (s Search) section() (section, error) {
	var table strings.Builder
	if err := reports.SearchTable(&table, s.Best, s.Failures); err != nil {
		return section{}, err
	}
	one := section{Heading: reports.Title(s.Best), Blocks: []block{{Text: table.String()}}}
	if len(s.Why.Sentences) > 0 {
		one.Blocks = append(one.Blocks, block{"Why it wins", reports.ExplanationText(s.Why)})
	}
	if s.Best.Found() {
		one.draw("the times compared", func(w io.Writer) error { return reports.SpeedupPlot(w, s.Best) })
	}
	if len(s.Trials) > 0 {
		one.draw("the best time so far", func(w io.Writer) error { return reports.ProgressPlot(w, s.Best, s.Trials) })
	}
	return one, nil
}

// draw adds a plot to the section. If a value in a document cannot be drawn, a line with the reason replaces the plot,
// so that the rest of the page is still written.
func (s *section) draw(about string, plot func(io.Writer) error) {
	var png bytes.Buffer
	if err := plot(&png); err != nil {
		s.Blocks = append(s.Blocks, block{Text: "no plot of " + about + ": " + output.Line(err.Error())})
		return
	}
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(png.Bytes())
	s.Plots = append(s.Plots, picture{about, template.URL(data)})
}
