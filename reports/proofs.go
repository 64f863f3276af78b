package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"autotune/internal/output"
)

// Proof is what became of a winner that was verified and timed again, as reports for CI
// have it. Times that are not known are 0.
type Proof struct {
	Name, Class  string
	Verdict      string
	Message      string  // why
	Failed       bool    // neither failed nor skipped: it passed
	Skipped      bool    // nothing is known of it
	WasMS, NowMS float64 // then and now
	Noise        float64 // relative, by which now may lie above then; 0: was not measured
	Target       string  // of a pack's entry: "sm_90a"
}

// WriteJUnit writes proofs as a report of one suite, as CI servers read it.
func WriteJUnit(w io.Writer, suite string, proofs []Proof) error {
	type why struct {
		Message string `xml:"message,attr"`
	}
	type testcase struct {
		Name    string `xml:"name,attr"`
		Class   string `xml:"classname,attr"`
		Failure *why   `xml:"failure,omitempty"`
		Skipped *why   `xml:"skipped,omitempty"`
	}
	type testsuite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	all := testsuite{Name: output.Line(suite), Tests: len(proofs)}
	for _, p := range proofs {
		one := testcase{Name: output.Line(p.Name + " " + p.Target), Class: output.Line(p.Class)}
		reason := &why{output.Line(p.Verdict + " " + p.Message)}
		switch {
		case p.Failed:
			one.Failure = reason
			all.Failures++
		case p.Skipped:
			one.Skipped = reason
			all.Skipped++
		}
		all.Cases = append(all.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header+"<!-- Written by autotune. -->\n"); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// WriteProofs writes proofs as a page in Markdown: one sentence, and a table. Those that
// failed come first.
func WriteProofs(w io.Writer, title string, proofs []Proof) error {
	failed, skipped := 0, 0
	var first, then [][]string
	for _, p := range proofs {
		row := p.row()
		for i := range row {
			row[i] = inTable.Replace(output.Line(row[i]))
		}
		switch {
		case p.Failed:
			failed++
			first = append(first, row)
			continue
		case p.Skipped:
			skipped++
		}
		then = append(then, row)
	}
	sentence := fmt.Sprintf("%d of %d hold", len(proofs)-failed-skipped, len(proofs))
	if failed > 0 {
		sentence += fmt.Sprintf(", %d failed", failed)
	}
	if skipped > 0 {
		sentence += fmt.Sprintf(", of %d nothing is known here", skipped)
	}
	if _, err := fmt.Fprintf(w, "<!-- Written by autotune. -->\n### %s\n\n%s.\n", inTable.Replace(output.Line(title)), sentence); err != nil || len(proofs) == 0 {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	rows := append([][]string{{"verdict", "problem", "target", "was", "now", "change", "noise", "why"}}, append(first, then...)...)
	for column := len(rows[0]) - 1; column > 1; column-- {
		if emptyBelow(rows, column) {
			rows = withoutColumn(rows, column)
		}
	}
	return markdown(w, rows)
}

func emptyBelow(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[column] != "" })
}

// row is a proof's row of the table.
func (p Proof) row() []string {
	verdict := p.Verdict
	if p.Failed {
		verdict = "**" + verdict + "**"
	}
	row := []string{verdict, p.Name, p.Target, "", "", "", "", p.Message}
	if p.WasMS > 0 {
		row[3] = FormatMS(p.WasMS)
	}
	if p.NowMS > 0 {
		row[4] = FormatMS(p.NowMS)
	}
	if p.WasMS > 0 && p.NowMS > 0 {
		row[5] = fmt.Sprintf("%+.1f %%", 100*(p.NowMS/p.WasMS-1))
	}
	if p.Noise > 0 {
		row[6] = "±" + significant(100*p.Noise, 2) + " %"
	}
	return row
}
