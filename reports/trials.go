package reports

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/tuner/bestconfig"
)

// WriteTrialsCSV writes trials, or the winner alone if there are none, as CSV by RFC 4180. The columns are always the
// same but for the tunables; an unknown quantity is an empty cell.
func WriteTrialsCSV(w io.Writer, b bestconfig.Document, trials []trial.Trial) error {
	trials = fastestFirst(b, trials)
	columns := trialColumns(b, trials)
	rows := rowsOf(columns, trials)
	for _, row := range rows {
		for i, cell := range row {
			// A spreadsheet must take no words for a formula.
			_, err := strconv.ParseFloat(cell, 64)
			if columns[i].text && err != nil && strings.ContainsAny(cell[:min(1, len(cell))], "=+-@") {
				row[i] = "'" + cell
			}
		}
	}
	return writeCSV(w, rows)
}

// fastestFirst sorts trials by status and time. Without any it is the winner alone.
func fastestFirst(b bestconfig.Document, trials []trial.Trial) []trial.Trial {
	if len(trials) == 0 {
		return []trial.Trial{b.WinningTrial()}
	}
	place := func(t trial.Trial) int { return slices.Index(trial.Statuses, t.Status) }
	trials = slices.Clone(trials)
	slices.SortStableFunc(trials, func(x, y trial.Trial) int {
		return cmp.Or(place(x)-place(y), cmp.Compare(x.Time.Median, y.Time.Median))
	})
	return trials
}

// trialColumns are the template, the tunables, and what is known of a trial besides.
func trialColumns(b bestconfig.Document, trials []trial.Trial) []column[trial.Trial] {
	known := measuredColumns(b)
	template := column[trial.Trial]{head: "template", text: true, cell: func(t trial.Trial) string { return t.Template }}
	return slices.Concat([]column[trial.Trial]{template}, tunableColumns(trials, known), known)
}

// tunableColumns are the tunables of all templates. One with the name of another column gets a name of its own.
func tunableColumns(trials []trial.Trial, others []column[trial.Trial]) []column[trial.Trial] {
	var columns []column[trial.Trial]
	seen := map[string]bool{}
	for _, t := range trials {
		for _, v := range t.Values {
			if seen[v.Name] {
				continue
			}
			seen[v.Name] = true
			name := v.Name
			if name == "template" || slices.ContainsFunc(others, func(c column[trial.Trial]) bool { return c.head == name }) {
				name = "tunable " + name
			}
			columns = append(columns, column[trial.Trial]{head: name, text: true, cell: func(t trial.Trial) string {
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
func measuredColumns(b bestconfig.Document) []column[trial.Trial] {
	timed := func(name string, format func(float64) string, value func(trial.Timing) float64) column[trial.Trial] {
		return column[trial.Trial]{head: name, cell: func(t trial.Trial) string {
			if x := value(t.Time); t.Status == trial.OK && x > 0 {
				return format(x)
			}
			return ""
		}}
	}
	ratio := func(name string, of float64) column[trial.Trial] {
		format := func(x float64) string { return significant(x, 4) }
		return timed(name, format, func(t trial.Timing) float64 { return of / t.Median })
	}
	columns := []column[trial.Trial]{
		{head: "status", text: true, cell: func(t trial.Trial) string { return string(t.Status) }},
		timed("time_ms", plain, func(t trial.Timing) float64 { return t.Median }),
		timed("ci95_low_ms", plain, func(t trial.Timing) float64 { return t.CI95[0] }),
		timed("ci95_high_ms", plain, func(t trial.Timing) float64 { return t.CI95[1] }),
		timed("samples", plain, func(t trial.Timing) float64 { return float64(t.Samples) }),
		ratio("speedup_over_default", b.Baselines[bestconfig.Default].TimeMS),
		ratio("roofline_share", b.Roofline.FloorMS),
	}
	if unusual := b.Conditions.Unusual(); unusual != "" {
		timed := func(trial.Trial) string { return unusual }
		columns = append(columns, column[trial.Trial]{head: "timed", text: true, cell: timed})
	}
	for _, name := range recording.Quantities() {
		columns = append(columns, column[trial.Trial]{head: name, cell: func(t trial.Trial) string {
			if x, known := recording.Measured(t.Outcome, name); known {
				return strconv.FormatFloat(x, 'g', -1, 64)
			}
			return ""
		}})
	}
	at := func(t trial.Trial) string { return t.At.UTC().Format(time.RFC3339) }
	return append(columns,
		column[trial.Trial]{head: "measured_at", cell: at},
		column[trial.Trial]{head: "reason", text: true, cell: func(t trial.Trial) string { return t.Reason() }})
}

// plain writes a number with all digits that were measured and no exponent.
func plain(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
