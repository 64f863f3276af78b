package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"autotune/internal/lists"
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

// count is how many proofs failed and were skipped.
func count(proofs []Proof) (failed, skipped int) {
	failed = len(lists.Where(proofs, func(p Proof) bool { return p.Failed }))
	return failed, len(lists.Where(proofs, func(p Proof) bool { return p.Skipped && !p.Failed }))
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
	all.Failures, all.Skipped = count(proofs)
	for _, p := range proofs {
		one := testcase{Name: output.Line(p.Name + " " + p.Target), Class: output.Line(p.Class)}
		if reason := (&why{output.Line(p.Verdict + " " + p.Message)}); p.Failed {
			one.Failure = reason
		} else if p.Skipped {
			one.Skipped = reason
		}
		all.Cases = append(all.Cases, one)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s<!-- Written by autotune. -->\n%s\n", xml.Header, text)
	}
	return err
}

// WriteProofs writes proofs as a page in Markdown: one sentence, and a table. Those that failed come first.
func WriteProofs(w io.Writer, title string, proofs []Proof) error {
	failed, skipped := count(proofs)
	sentence := fmt.Sprintf("%d of %d hold", len(proofs)-failed-skipped, len(proofs))
	if failed > 0 {
		sentence += fmt.Sprintf(", %d failed", failed)
	}
	if skipped > 0 {
		sentence += fmt.Sprintf(", of %d nothing is known here", skipped)
	}
	heading := inTable.Replace(output.Line(title))
	_, err := fmt.Fprintf(w, "<!-- Written by autotune. -->\n### %s\n\n%s.\n", heading, sentence)
	if err != nil || len(proofs) == 0 {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	sorted := append(lists.Where(proofs, func(p Proof) bool { return p.Failed }),
		lists.Where(proofs, func(p Proof) bool { return !p.Failed })...)
	columns := slices.Concat(proofColumns[:2], filled(proofColumns[2:], sorted))
	return markdown(w, rowsOf(columns, sorted))
}

// proofColumns are the table's columns. All but the first two may be left out.
var proofColumns = []column[Proof]{
	{head: "verdict", cell: func(p Proof) string {
		if p.Failed {
			return "**" + p.Verdict + "**"
		}
		return p.Verdict
	}},
	{head: "problem", cell: func(p Proof) string { return p.Name }},
	{head: "target", cell: func(p Proof) string { return p.Target }},
	{head: "was", cell: func(p Proof) string { return knownMS(p.WasMS) }},
	{head: "now", cell: func(p Proof) string { return knownMS(p.NowMS) }},
	{head: "change", cell: func(p Proof) string {
		if p.WasMS <= 0 || p.NowMS <= 0 {
			return ""
		}
		return fmt.Sprintf("%+.1f %%", 100*(p.NowMS/p.WasMS-1))
	}},
	{head: "noise", cell: func(p Proof) string {
		if p.Noise <= 0 {
			return ""
		}
		return "±" + significant(100*p.Noise, 2) + " %"
	}},
	{head: "why", cell: func(p Proof) string { return p.Message }},
}

func knownMS(ms float64) string {
	if ms <= 0 {
		return ""
	}
	return FormatMS(ms)
}
