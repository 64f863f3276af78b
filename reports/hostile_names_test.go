package reports

import (
	"bytes"
	"strings"
	"testing"

	"autotune/tuner/bestconfig"
)

// Control characters and line breaks in the names of documents and recordings must be spaces in tables and plots.
func TestNamesAreOneHarmlessLine(t *testing.T) {
	named := func(separator string) bestconfig.Document {
		b := convolution()
		b.Device.Name = "an H100" + separator + "winner"
		b.Template = "implicit" + separator + "gemm"
		return b
	}
	draws := map[string]func(*bytes.Buffer, bestconfig.Document) error{
		"speedup": func(w *bytes.Buffer, b bestconfig.Document) error { return SpeedupPlot(w, b) },
		"table":   func(w *bytes.Buffer, b bestconfig.Document) error { return SearchTable(w, b, nil) },
		"summary": func(w *bytes.Buffer, b bestconfig.Document) error { return SummaryPlot(w, []bestconfig.Document{b, b}) },
		"summary's table": func(w *bytes.Buffer, b bestconfig.Document) error {
			return SummaryTable(w, []bestconfig.Document{b, convolution()}, 0)
		},
	}
	for what, draw := range draws {
		drawn := func(separator string) string {
			var out bytes.Buffer
			if err := draw(&out, named(separator)); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			return out.String()
		}
		want := drawn(" ")
		for _, separator := range []string{"\n", "\x1b", "\u009b", "\u202e"} {
			// The test ignores line breaks in tables, because their places depend on the spaces in the names.
			if got := drawn(separator); got != want && (what != "table" || strings.Contains(got, separator+"winner")) {
				t.Errorf("%s: a name with %q looks other than one with a space", what, separator)
			}
		}
	}
}
