package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
)

// outputs prints results and writes the files that the flags ask for. One
// problem's files have plain names; of many, each has the problem's in front.
type outputs struct {
	json, plot, record string
	many, verbose      bool
	device             string    // as --device names it
	out                io.Writer // for people; standard error when a file takes standard output
	all                []reports.BestConfig
	plots              []func() error // drawn when all else is written
}

func newOutputs(c *cli.Context, problems int) *outputs {
	o := &outputs{
		json: c.String("json"), plot: c.String("plot"), record: c.String("record"),
		many: problems > 1, verbose: c.Bool("verbose"), device: c.String("device"), out: painted(c, os.Stdout),
	}
	if o.json == output.Standard || o.record == output.Standard {
		o.out = painted(c, os.Stderr)
	}
	return o
}

// deliver prints the result of one problem and writes the files that are its own.
func (o *outputs) deliver(w batch.Request, r *tuner.Result, best reports.BestConfig) error {
	if o.many && len(o.all) > 0 {
		fmt.Fprintln(o.out)
	}
	details := reports.DetailsOf(r, o.verifyLine(w, r.Device.Kind))
	details.Verbose = o.verbose
	if err := reports.SearchTable(o.out, best, details); err != nil {
		return err
	}
	if best.Found() {
		o.all = append(o.all, best)
		o.plotLater(best, "speedup.png", func(w io.Writer) error { return reports.SpeedupPlot(w, best) })
	}
	o.plotLater(best, "progress.png", func(w io.Writer) error { return reports.ProgressPlot(w, best, r.Trials) })
	return o.writeRecording(r, best)
}

// deliverKnown takes a winner that the run had found before.
func (o *outputs) deliverKnown(best reports.BestConfig) error {
	if o.many && len(o.all) > 0 {
		fmt.Fprintln(o.out)
	}
	if err := reports.Table(o.out, best); err != nil {
		return err
	}
	o.all = append(o.all, best)
	o.plotLater(best, "speedup.png", func(w io.Writer) error { return reports.SpeedupPlot(w, best) })
	return nil
}

// verifyLine is the command that checks variants of a searched problem, but for
// which; "" where its device runs none.
func (o *outputs) verifyLine(w batch.Request, kind device.Kind) string {
	if !kind.Properties().Compiles {
		return ""
	}
	words := []string{"autotune", "verify", quoted(w.Name), "--shape", operator.FormatShape(w.Shape)}
	for _, name := range slices.Sorted(maps.Keys(w.Parameters)) {
		words = append(words, "--set", quoted(name+"="+w.Parameters[name]))
	}
	if w.Math != "" && w.Math != "auto" {
		words = append(words, "--math", w.Math)
	}
	if !kind.Properties().Measures {
		words = append(words, "--device", string(kind))
	} else if o.device != "auto" {
		words = append(words, "--device", o.device)
	}
	return strings.Join(words, " ")
}

// plain is a word that every shell takes as it stands.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./=,:+-]+$`)

// quoted writes a word as a shell reads it.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plotLater keeps a problem's plot for the end, so that one that cannot be drawn
// costs nothing else.
func (o *outputs) plotLater(best reports.BestConfig, name string, draw func(io.Writer) error) {
	if o.many {
		name = fmt.Sprintf("%s-%s-%s-%s", best.Operator, operator.FormatShape(best.Problem.Shape), best.Problem.Math, name)
	}
	o.plots = append(o.plots, func() error { return o.writePlot(name, draw) })
}

func (o *outputs) writePlot(name string, draw func(io.Writer) error) error {
	if o.plot == "" {
		return nil
	}
	path := filepath.Join(o.plot, name)
	return o.wrote(path, output.To(path, draw))
}

// writeRecording records a search; of one interrupted before its first trial there
// is nothing to record.
func (o *outputs) writeRecording(r *tuner.Result, best reports.BestConfig) error {
	if o.record == "" || len(r.Trials) == 0 {
		return nil
	}
	recorded := reports.Recorded(r, best.Tool)
	path := o.record
	if isFolder(path) {
		path = filepath.Join(path, recording.FileName(recorded.Metadata))
	}
	return o.wrote(path, recording.Write(path, recorded))
}

// finish writes what is about all results together, and draws the plots.
func (o *outputs) finish() error {
	var err error
	if o.json != "" && len(o.all) > 0 {
		err = o.wrote(o.json, output.To(o.json, o.writeJSON))
	}
	for _, draw := range o.plots {
		err = errors.Join(err, draw())
	}
	if o.many && len(o.all) > 0 {
		err = errors.Join(err, o.writePlot("summary.png", func(w io.Writer) error { return reports.SummaryPlot(w, o.all) }))
	}
	return badInput(err)
}

// writeJSON writes the best configuration, or a list of them.
func (o *outputs) writeJSON(w io.Writer) error {
	if !o.many {
		return o.all[0].WriteJSON(w)
	}
	return reports.WriteJSONList(w, o.all)
}

// wrote tells of a file, unless it could not be written.
func (o *outputs) wrote(path string, err error) error {
	if err == nil && path != output.Standard {
		fmt.Fprintln(o.out, "wrote", path)
	}
	return err
}

// checkOutputs finds out before the search, not after it, that an output cannot
// be written.
func checkOutputs(c *cli.Context, problems int) error {
	err := cmp.Or(distinctOutputs(c, "json", "record"), distinctOutputs(c, "json", "plot"))
	if err != nil {
		return err
	}
	for _, flag := range []struct {
		name  string
		check func(path string) error
	}{
		{"json", output.Check},
		{"record", func(path string) error { return checkRecord(path, problems) }},
		{"plot", checkPlotFolder},
	} {
		if path := c.String(flag.name); path != "" {
			if err := flag.check(path); err != nil {
				return badInput(fmt.Errorf("--%s %s: %w", flag.name, path, err))
			}
		}
	}
	return nil
}

// checkRecord checks where recordings go: a folder, or a file for that of one problem.
func checkRecord(path string, problems int) error {
	switch {
	case isFolder(path):
		return output.CheckFolder(path)
	case problems > 1:
		return errors.New("with several problems, name an existing folder")
	}
	return output.Check(path)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// distinctOutputs refuses two flags that name one file.
func distinctOutputs(c *cli.Context, one, other string) error {
	a, b := c.String(one), c.String(other)
	if a != "" && b != "" && output.Same(a, b) {
		return badInput(fmt.Errorf("--%s and --%s both write %s; name another file for one of them", one, other, a))
	}
	return nil
}
