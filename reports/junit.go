package reports

import (
	"encoding/xml"
	"io"
)

// JUnitCase is a test of a JUnit report. One without a failure that was not skipped passed.
type JUnitCase struct {
	Name, Class      string
	Failure, Skipped string // why; "": it is neither
}

// WriteJUnit writes a report of one suite, as CI servers read it.
func WriteJUnit(w io.Writer, suite string, cases []JUnitCase) error {
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
	all := testsuite{Name: suite, Tests: len(cases)}
	for _, c := range cases {
		one := testcase{Name: c.Name, Class: c.Class}
		switch {
		case c.Failure != "":
			one.Failure = &why{c.Failure}
			all.Failures++
		case c.Skipped != "":
			one.Skipped = &why{c.Skipped}
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
