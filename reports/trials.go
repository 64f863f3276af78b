package reports

import (
	"cmp"
	"encoding/csv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
)

// WriteTrialsCSV writes trials, or the winner alone if there are none, as CSV by
// RFC 4180. The columns are always the same but for the tunables; an unknown quantity is
// an empty cell.
func WriteTrialsCSV(w io.Writer, b BestConfig, trials []trial.Trial) error {
	t := newTrialTable(b, trials, plain)
	out := csv.NewWriter(w)
	out.UseCRLF = true
	for _, row := range t.rows() {
		for i, cell := range row {
			row[i] = t.columns[i].harmless(cell)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteTrialsMarkdown writes trials, or the winner alone if there are none, as a
// Markdown table. Columns without any content are left out.
func WriteTrialsMarkdown(w io.Writer, b BestConfig, trials []trial.Trial) error {
	t := newTrialTable(b, trials, func(ms float64) string { return significant(ms, 4) })
	t.columns = slices.DeleteFunc(t.columns, func(c trialColumn) bool {
		return !slices.ContainsFunc(t.trials, func(tr trial.Trial) bool { return c.cell(tr) != "" })
	})
	rows := t.rows()
	for _, row := range rows {
		for i, cell := range row {
			row[i] = inTable.Replace(cell)
		}
	}
	return markdown(w, rows)
}

// inTable keeps a cell of a Markdown table in its place.
var inTable = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "`", "\\`")

// trialColumn is a column of a table of trials.
type trialColumn struct {
	name string
	text bool // its cells are words, not numbers
	cell func(trial.Trial) string
}

// harmless is a cell that no spreadsheet takes for a formula.
func (c trialColumn) harmless(cell string) string {
	if _, err := strconv.ParseFloat(cell, 64); c.text && err != nil && strings.ContainsAny(cell[:min(1, len(cell))], "=+-@") {
		return "'" + cell
	}
	return cell
}

// trialTable lays out trials, the fastest first.
type trialTable struct {
	columns []trialColumn
	trials  []trial.Trial
}

// newTrialTable is a table in which times and energies are written as ms says.
func newTrialTable(b BestConfig, trials []trial.Trial, ms func(float64) string) *trialTable {
	if len(trials) == 0 {
		trials = []trial.Trial{b.WinningTrial()}
	}
	t := &trialTable{trials: slices.Clone(trials)}
	slices.SortStableFunc(t.trials, func(x, y trial.Trial) int {
		return cmp.Or(slices.Index(trial.Statuses, x.Status)-slices.Index(trial.Statuses, y.Status), cmp.Compare(x.Time.Median, y.Time.Median))
	})
	known := append(measuredColumns(b, ms), metricColumns(t.trials)...)
	t.columns = append(t.columns, trialColumn{name: "template", text: true, cell: func(t trial.Trial) string { return t.Template }})
	t.columns = append(t.columns, tunableColumns(t.trials, known)...)
	t.columns = append(t.columns, known...)
	return t
}

func (t *trialTable) rows() [][]string {
	rows := [][]string{nil}
	for _, c := range t.columns {
		rows[0] = append(rows[0], c.name)
	}
	for _, tr := range t.trials {
		row := lists.Of(t.columns, func(c trialColumn) string { return output.Line(c.cell(tr)) })
		rows = append(rows, row)
	}
	return rows
}

// WinningTrial is the document's winner as a trial.
func (b BestConfig) WinningTrial() trial.Trial {
	return trial.Trial{Configuration: b.Configuration, Launches: b.Launches, KernelDigest: b.KernelDigest, At: b.RecordedAt,
		Outcome: trial.Outcome{Status: trial.OK, Time: b.Time, Measured: b.Measured}, Metrics: b.Metrics}
}

// metricColumns are the operator's own metrics.
func metricColumns(trials []trial.Trial) []trialColumn {
	names := map[string]bool{}
	for _, t := range trials {
		for name := range t.Metrics {
			names[name] = true
		}
	}
	var columns []trialColumn
	for _, name := range slices.Sorted(maps.Keys(names)) {
		columns = append(columns, trialColumn{name: name, cell: func(t trial.Trial) string {
			x, known := t.Metrics[name]
			if !known {
				return ""
			}
			return strconv.FormatFloat(x, 'g', 6, 64)
		}})
	}
	return columns
}

// tunableColumns are the tunables of all templates. One with the name of another
// column gets a name of its own.
func tunableColumns(trials []trial.Trial, others []trialColumn) []trialColumn {
	var columns []trialColumn
	seen := map[string]bool{}
	for _, t := range trials {
		for _, v := range t.Values {
			if seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			name := v.Name
			if name == "template" || slices.ContainsFunc(others, func(c trialColumn) bool { return c.name == name }) {
				name = "tunable " + name
			}
			columns = append(columns, trialColumn{name: name, text: true, cell: func(t trial.Trial) string {
				if value, ok := t.Get(v.Name); ok {
					return value.String()
				}
				return ""
			}})
		}
	}
	return columns
}

// measuredColumns are what is known of a trial besides its configuration.
func measuredColumns(b BestConfig, ms func(float64) string) []trialColumn {
	timed := func(name string, format func(float64) string, value func(trial.Timing) float64) trialColumn {
		return trialColumn{name: name, cell: func(t trial.Trial) string {
			if x := value(t.Time); t.Status == trial.OK && x > 0 {
				return format(x)
			}
			return ""
		}}
	}
	ratio := func(name string, of float64) trialColumn {
		return timed(name, func(x float64) string { return significant(x, 4) }, func(t trial.Timing) float64 { return of / t.Median })
	}
	columns := []trialColumn{
		{name: "status", text: true, cell: func(t trial.Trial) string { return string(t.Status) }},
		timed("time_ms", ms, func(t trial.Timing) float64 { return t.Median }),
		timed("ci95_low_ms", ms, func(t trial.Timing) float64 { return t.CI95[0] }),
		timed("ci95_high_ms", ms, func(t trial.Timing) float64 { return t.CI95[1] }),
		timed("samples", plain, func(t trial.Timing) float64 { return float64(t.Samples) }),
		ratio("speedup_over_default", b.Baselines[Default].TimeMS),
		ratio("roofline_share", b.Roofline.FloorMS),
	}
	if unusual := b.Conditions.Unusual(); unusual != "" {
		columns = append(columns, trialColumn{name: "timed", text: true, cell: func(trial.Trial) string { return unusual }})
	}
	for _, name := range recording.Quantities() {
		columns = append(columns, trialColumn{name: name, cell: func(t trial.Trial) string {
			if x, known := recording.Measured(t.Outcome, name); known {
				return strconv.FormatFloat(x, 'g', -1, 64)
			}
			return ""
		}})
	}
	return append(columns,
		trialColumn{name: "measured_at", cell: func(t trial.Trial) string { return t.At.UTC().Format(time.RFC3339) }},
		trialColumn{name: "reason", text: true, cell: func(t trial.Trial) string { return t.Reason() }})
}

// plain writes a number with all digits that were measured and no exponent.
func plain(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
