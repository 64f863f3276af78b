package reports

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"
)

var proofs = []Proof{
	{Name: "conv2d 1x2x3x4", Class: "H100", Verdict: "holds", WasMS: 2, NowMS: 2.01, Noise: 0.0123},
	{Name: "a|b <i>c</i>\x1b[31m", Class: "H100", Verdict: "wrong_result", Message: "y <differs> `at` | 3\nsecond", Failed: true, WasMS: 1},
	{Name: "far", Class: "pack", Target: "sm_80", Verdict: "unproven", Message: "it is for sm_80", Skipped: true},
}

func TestWriteProofs(t *testing.T) {
	var text strings.Builder
	if err := WriteProofs(&text, "autotune recheck", proofs); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for i, want := range []string{
		"<!-- Written by autotune. -->", "### autotune recheck", "", "1 of 3 hold, 1 failed, of 1 nothing is known here.", "",
		"| verdict | problem | target | was | now | change | noise | why |", "| - | - | - | - | - | - | - | - |",
		`| **wrong_result** | a\|b &lt;i>c&lt;/i> [31m | | 1.000 ms | | | | y &lt;differs> \` + "`at\\`" + ` \| 3 second |`,
		"| holds | conv2d 1x2x3x4 | | 2.000 ms | 2.010 ms | +0.5 % | ±1.2 % | |",
		"| unproven | far | sm_80 | | | | | it is for sm_80 |",
	} {
		got := strings.Join(strings.Fields(lines[i]), " ")
		if strings.HasPrefix(got, "| --") {
			got = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
				if r == '-' {
					return -1
				}
				return r
			}, got)), " - ")
		}
		if got != want {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	text.Reset()
	if err := WriteProofs(&text, "t", nil); err != nil || !strings.HasSuffix(text.String(), "0 of 0 hold.\n") {
		t.Errorf("of nothing: %v, %q", err, text.String())
	}
	text.Reset()
	if err := WriteProofs(&text, "t", proofs[:1]); err != nil || strings.Contains(text.String(), "target") || strings.Contains(text.String(), "why") {
		t.Errorf("empty columns stay: %v\n%s", err, text.String())
	}
}

func TestWriteJUnit(t *testing.T) {
	var text strings.Builder
	if err := WriteJUnit(&text, "autotune", proofs); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal([]byte(text.String()), &read); err != nil {
		t.Fatal(err)
	}
	if read.Tests != 3 || read.Failures != 1 || read.Skipped != 1 || read.Cases[0].Failure != nil || read.Cases[2].Name != "far sm_80" ||
		!strings.HasPrefix(read.Cases[1].Failure.Message, "wrong_result y <differs>") || read.Cases[2].Skipped == nil {
		t.Errorf("%+v of\n%s", read, text.String())
	}
}

// What a proof says of itself is one line of a report.
func TestProofsAreLines(t *testing.T) {
	var out strings.Builder
	const forged = "conv2d\n| holds\x1b[2J\u202e"
	list := []Proof{{Name: forged, Class: forged, Verdict: "lost", Message: forged, Failed: true, Target: forged}}
	if err := errors.Join(WriteJUnit(&out, forged, list), WriteProofs(&out, forged, list)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\n| holds", "\x1b", "\u202e", "&#xA;", "&#x1B;"} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is in %q", bad, out.String())
		}
	}
}
