package reports

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autotune/device/trial"
	"autotune/space"
	"autotune/space/expr"
)

// tried are trials of every kind: of two templates, with words that a table or a
// spreadsheet could take for something else.
func tried() []trial.Trial {
	of := func(template string, status trial.Status, ms float64, reason string, values ...space.Value) trial.Trial {
		t := trial.Trial{Configuration: space.Configuration{Template: template, Values: values}, At: recordedAt.Add(time.Duration(ms) * time.Second)}
		t.Status, t.Message = status, reason
		if status == trial.OK {
			t.Time = trial.Timing{Median: ms, CI95: [2]float64{ms * 0.99, ms * 1.01}, Samples: 30}
			t.Resources = trial.Resources{Registers: 96, SharedBytes: 49152, Occupancy: 0.5}
		}
		return t
	}
	value := func(name string, v expr.Value) space.Value { return space.Value{Name: name, Value: v} }
	fast := of("direct", trial.OK, 6.27, "", value("block_x", expr.Int(32)), value("padded", expr.Bool(true)), value("share", expr.Float(0.5)))
	fast.EnergyMJ, fast.MaxAbsError, fast.Resources.LocalBytes = 3111.3, 1.43e-6, 16
	return []trial.Trial{
		of("rows", trial.WrongResult, 0, "=HYPERLINK(\"http://example.org\",\"4 | elements\")\nmore", value("status", expr.Int(-1)), value("word", expr.String("@SUM"))),
		of("rows", trial.OK, 12.5, "", value("status", expr.Int(2)), value("word", expr.String("plain"))),
		of("direct", trial.CompileError, 0, "direct.cu:3: a <b>, or \"c\"", value("block_x", expr.Int(-64)), value("padded", expr.Bool(false)), value("share", expr.Float(1))),
		fast,
	}
}

func TestGoldenTrials(t *testing.T) {
	for name, trials := range map[string][]trial.Trial{"trials": tried(), "winner": nil} {
		var out bytes.Buffer
		if err := WriteTrialsCSV(&out, convolution(), trials); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".csv", out.Bytes())
	}
}

// Whatever words a trial holds, the file is CSV of as many rows as trials, and no cell is a formula.
func TestTrialsCSVIsHarmless(t *testing.T) {
	word := rapid.OneOf(rapid.String(), rapid.StringMatching("[=+@\t\r-][a-z\"',|\n]{0,9}"))
	rapid.Check(t, func(t *rapid.T) {
		trials := tried()
		for i := range trials {
			trials[i].Template, trials[i].Message = word.Draw(t, "template"), word.Draw(t, "reason")
		}
		var out bytes.Buffer
		if err := WriteTrialsCSV(&out, convolution(), trials); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 1+len(trials) {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for _, row := range rows {
			for i, cell := range row {
				if _, err := strconv.ParseFloat(cell, 64); err != nil && strings.ContainsAny(cell[:min(1, len(cell))], "=+-@") {
					t.Errorf("%s holds %q", rows[0][i], cell)
				}
			}
		}
	})
}
