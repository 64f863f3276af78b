package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/recording"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/webpage"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
)

type outputFlags struct{ json, plot, record string }

// outputs prints results and writes the files that the flags ask for. If there are several problems, the name of each
// plot begins with its problem.
type outputs struct {
	outputFlags
	many     bool
	device   string    // the value of --device
	out      io.Writer // text for users: stdout, or stderr if a file goes to stdout
	all      []bestconfig.Document
	plots    []func() error   // drawn after all other files are written
	searches []webpage.Search // for the page of --html
	unsolved unsolved
}

func newOutputs(f outputFlags, v view, device string, problems int) *outputs {
	o := &outputs{outputFlags: f, many: problems > 1, device: device, out: output.Plain(os.Stdout)}
	if o.json == output.Standard || o.record == output.Standard {
		o.out = output.Plain(os.Stderr)
	}
	return o
}

func (o *outputs) deliver(ctx context.Context, w batch.Request, r *tuner.Result, best bestconfig.Document) error {
	failures := reports.FailuresOf(r.Trials, o.verifyLine(w, r.Device.Kind))
	if err := o.show(best, failures); err != nil {
		return err
	}
	o.plotLater(best, "progress.png", func(w io.Writer) error { return reports.ProgressPlot(w, best, r.Trials) })
	if o.plot != "" {
		o.searches = append(o.searches, pageOf(context.WithoutCancel(ctx), best, r.Trials, r.Problem, failures))
	}
	return o.writeRecording(r, best)
}

func (o *outputs) show(best bestconfig.Document, failures []reports.Failure) error {
	if len(o.all) > 0 {
		fmt.Fprintln(o.out)
	}
	if best.Found() {
		o.all = append(o.all, best)
		o.plotLater(best, "speedup.png", func(w io.Writer) error { return reports.SpeedupPlot(w, best) })
	}
	return reports.SearchTable(o.out, best, failures)
}

// verifyLine returns the command line that verifies a variant of the problem, without the variant's configuration, or
// "" if the device does not run kernels.
func (o *outputs) verifyLine(w batch.Request, kind device.Kind) string {
	if !kind.Properties().Compiles {
		return ""
	}
	words := []string{"autotune", "verify", named(w.Name, w.Request)}
	if !kind.Properties().Measures {
		words = append(words, "--device", string(kind))
	} else if o.device != "auto" {
		words = append(words, "--device", o.device)
	}
	return strings.Join(words, " ")
}

// named returns the words by which a command line names a problem: the operator, --shape and the parameters.
func named(operatorName string, r operator.Request) string {
	words := []string{operatorName, "--shape", operator.FormatShape(r.Shape)}
	for _, parameter := range slices.Sorted(maps.Keys(r.Parameters)) {
		words = append(words, "--set", parameter+"="+r.Parameters[parameter])
	}
	if r.Math != "" && r.Math != "auto" {
		words = append(words, "--math", r.Math)
	}
	if len(r.Free) > 0 {
		words = append(words, "--free", strings.Join(r.Free, ","))
	}
	return strings.Join(lists.Of(words, quoted), " ")
}

// plainWord matches a word that needs no quotes in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./=,:+-]+$`)

// quoted quotes a word for the shell, if it needs quotes.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plotLater stores a problem's plot to be drawn last, so that all other files are written even if drawing fails.
func (o *outputs) plotLater(best bestconfig.Document, name string, draw func(io.Writer) error) {
	if o.many {
		name = fmt.Sprintf("%s-%s-%s-%s", best.Operator, operator.FormatShape(best.Problem.Shape), best.Problem.Math, name)
	}
	o.plots = append(o.plots, func() error { return o.writePlot(name, draw) })
}

func (o *outputs) writePlot(name string, draw func(io.Writer) error) error {
	if o.plot == "" {
		return nil
	}
	path, err := plotInto(o.plot, name, draw)
	return o.wrote(path, err)
}

// writeRecording writes the recording of a search. A search that was interrupted before its first trial is not
// recorded.
func (o *outputs) writeRecording(r *tuner.Result, best bestconfig.Document) error {
	if o.record == "" || len(r.Trials) == 0 {
		return nil
	}
	recorded := r.Recording(best.Tool)
	path := o.record
	if isFolder(path) {
		path = filepath.Join(path, recording.FileName(recorded.Metadata))
	}
	return o.wrote(path, recording.Write(path, recorded))
}

// finish prints the summary of all results, and writes the plots and the page.
func (o *outputs) finish() error {
	var err error
	if len(o.all) > 1 {
		fmt.Fprintln(o.out)
		err = reports.SummaryTable(o.out, o.all, max(tableColumns, columnsOf(os.Stdout)))
	}
	if o.many && len(o.unsolved.rows) > 0 {
		fmt.Fprintln(o.out)
		err = errors.Join(err, reports.UnsolvedTable(o.out, o.unsolved.rows))
	}
	if o.json != "" && len(o.all) > 0 {
		err = errors.Join(err, o.wrote(o.json, output.To(o.json, o.writeJSON)))
	}
	for _, draw := range o.plots {
		err = errors.Join(err, draw())
	}
	if o.many && len(o.all) > 0 {
		err = errors.Join(err, o.writePlot("summary.png", func(w io.Writer) error { return reports.SummaryPlot(w, o.all) }))
	}
	if len(o.searches) > 0 {
		path, drawn := plotInto(o.plot, "report.html", webpage.Page{Searches: o.searches}.Write)
		err = errors.Join(err, o.wrote(path, drawn))
	}
	return badInput(err)
}

func (o *outputs) writeJSON(w io.Writer) error {
	if !o.many {
		return o.all[0].WriteJSON(w)
	}
	return bestconfig.WriteJSONList(w, o.all)
}

func (o *outputs) wrote(path string, err error) error {
	if err == nil && path != output.Standard {
		fmt.Fprintln(o.out, "wrote", path)
	}
	return err
}

// check fails before a search begins if an output of the search could not be written after it.
func (f outputFlags) check(problems int) error {
	checkRecord := output.Check
	if isFolder(f.record) {
		checkRecord = output.CheckFolder
	} else if problems > 1 {
		checkRecord = func(string) error { return errors.New("with several problems, name an existing folder") }
	}
	err := distinct("json", f.json, "record", f.record)
	for _, flag := range []struct {
		name, path string
		check      func(path string) error
	}{{"json", f.json, output.Check}, {"record", f.record, checkRecord}, {"plot", f.plot, checkPlots}} {
		if err == nil && flag.path != "" {
			if err = flag.check(flag.path); err != nil {
				err = fmt.Errorf("--%s %s: %w", flag.name, flag.path, err)
			}
		}
	}
	return err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// distinct returns an error if two flags name the same file. The arguments of distinct are pairs of a flag's name and
// the path that the user gave for the flag.
func distinct(flags ...string) error {
	for i := 0; i < len(flags); i += 2 {
		for j := 0; j < i; j += 2 {
			if a, b := flags[j+1], flags[i+1]; a != "" && b != "" && output.Same(a, b) {
				return fmt.Errorf("--%s and --%s both write %s; name another file for one of them", flags[j], flags[i], a)
			}
		}
	}
	return nil
}

// written lists the flags that name files to write, and read lists the flags that name files to read.
var (
	written = []string{"json", "output", "record", "html"}
	read    = []string{"from", "problems", "file", "cache"}
)

// checkNothingLost fails, before a command does any work, if an output would overwrite a file that the command reads.
func checkNothingLost(c *cli.Context) error {
	inputs := filesRead(c)
	for _, flag := range written {
		path := c.String(flag)
		if path == "" || path == output.Standard || isFolder(path) {
			continue
		}
		for _, input := range inputs {
			if output.Same(path, input) {
				return fmt.Errorf("--%s %s would replace a file that this command reads; name another file", flag, path)
			}
		}
	}
	return nil
}

// filesRead returns the files that a command may read: its arguments, all files in an operator's folder, and the
// values of flags that name files to read.
func filesRead(c *cli.Context) []string {
	var all []string
	arguments := c.Args().Slice()
	if c.Command.Name == captureName { // the arguments belong to another program
		arguments = nil
	}
	for _, argument := range arguments {
		if !isFolder(argument) {
			all = append(all, argument)
			continue
		}
		_ = filepath.WalkDir(argument, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() {
				all = append(all, path)
			}
			return nil
		})
	}
	for _, flag := range read {
		all = append(all, c.String(flag))
	}
	if _, recording, ok := strings.Cut(c.String("device"), "replay:"); ok {
		all = append(all, recording)
	}
	return slices.DeleteFunc(all, func(path string) bool { return path == "" })
}

func plotFlag(to *string) flag {
	return textFlag(to, "plot", "", "write PNG plots into the folder `FOLDER`")
}

// checkPlots fails if plots cannot be written into a folder. checkPlots does not make the folder, which a failed
// search would leave behind empty.
func checkPlots(path string) error {
	_, err := os.Stat(path)
	if err == nil && !isFolder(path) || err != nil && strings.EqualFold(filepath.Ext(path), ".png") || path == output.Standard {
		return errors.New("plots have names of their own; name a folder")
	}
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return output.CheckFolder(path)
}

func plotInto(folder, name string, draw func(io.Writer) error) (path string, err error) {
	path = filepath.Join(folder, name)
	if err = os.MkdirAll(folder, 0o755); err == nil {
		err = output.To(path, draw)
	}
	return path, err
}

// write writes a document to the file that --json names, and prints the table unless the document goes to stdout.
func write(path string, table, document func(io.Writer) error) error {
	if path != "" {
		if err := output.To(path, document); err != nil || path == output.Standard {
			return err
		}
	}
	return table(stdout)
}

func writeDocument(path string, document any, text string) error {
	return write(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }, asJSON(document))
}

func asJSON(document any) func(io.Writer) error {
	return func(w io.Writer) error { return printJSON(w, document) }
}

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
