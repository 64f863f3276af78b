package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/recording"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/webpage"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
)

// outputs prints results and writes the files that the flags ask for. One
// problem's files have plain names; of many, each has the problem's in front.
type outputs struct {
	json, plot, record string
	many, verbose      bool
	device             string    // as --device names it
	out                io.Writer // for people; standard error when a file takes standard output
	all                []bestconfig.Document
	plots              []func() error // drawn when all else is written
	pages              []func(context.Context) webpage.Search
	unsolved           unsolved
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
func (o *outputs) deliver(w batch.Request, r *tuner.Result, best bestconfig.Document) error {
	details := reports.Details{Lead: r.Lead, Failures: reports.FailuresOf(r.Trials, o.verifyLine(w, r.Device.Kind))}
	details.Verbose = o.verbose
	if err := o.show(best, details); err != nil {
		return err
	}
	o.plotLater(best, "progress.png", func(w io.Writer) error { return reports.ProgressPlot(w, best, r.Trials) })
	o.pages = append(o.pages, func(ctx context.Context) webpage.Search {
		s := pageOf(ctx, best, r.Trials, r.Problem, details)
		s.Commands = goesOn(best, namedByFlags(w.Name, w.Request))
		return s
	})
	return o.writeRecording(r, best)
}

// show prints what there is to say of one problem, and keeps its winner.
func (o *outputs) show(best bestconfig.Document, d reports.Details) error {
	if len(o.all) > 0 {
		fmt.Fprintln(o.out)
	}
	if best.Found() {
		o.all = append(o.all, best)
		o.plotLater(best, "speedup.png", func(w io.Writer) error { return reports.SpeedupPlot(w, best) })
	}
	return reports.SearchTable(o.out, best, d)
}

// verifyLine is the command that checks a variant of the problem, without the variant's name;
// "" if the device runs no kernels.
func (o *outputs) verifyLine(w batch.Request, kind device.Kind) string {
	if !kind.Properties().Compiles {
		return ""
	}
	words := []string{"autotune", "verify", namedByFlags(w.Name, w.Request)}
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
	path, err := plotFile(o.plot, name)
	if err != nil {
		return err
	}
	return o.wrote(path, output.To(path, draw))
}

// writeRecording records a search; of one interrupted before its first trial there
// is nothing to record.
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

// finish writes what is about all results together, and draws the plots and the page.
func (o *outputs) finish(ctx context.Context) error {
	var err error
	if len(o.all) > 1 {
		fmt.Fprintln(o.out)
		err = reports.SummaryTable(o.out, o.all, max(tableColumns, columnsOf(os.Stdout)))
	}
	if o.many && len(o.unsolved.rows) > 0 {
		fmt.Fprintln(o.out)
		err = errors.Join(err, o.unsolved.write(o.out))
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
	return badInput(errors.Join(err, o.writePage(ctx)))
}

// writePage writes the page of all searches into the folder of plots.
func (o *outputs) writePage(ctx context.Context) error {
	if o.plot == "" || len(o.pages) == 0 {
		return nil
	}
	path, err := plotFile(o.plot, pageName)
	if err != nil {
		return err
	}
	var searches []webpage.Search
	for _, page := range o.pages {
		searches = append(searches, page(context.WithoutCancel(ctx))) // also of a search that was interrupted
	}
	return o.wrote(path, writePage(path, webpage.Page{Searches: searches}))
}

// writeJSON writes the best configuration, or a list of them.
func (o *outputs) writeJSON(w io.Writer) error {
	if !o.many {
		return o.all[0].WriteJSON(w)
	}
	return bestconfig.WriteJSONList(w, o.all)
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
				return fmt.Errorf("--%s %s: %w", flag.name, path, err)
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
		return fmt.Errorf("--%s and --%s both write %s; name another file for one of them", one, other, a)
	}
	return nil
}

// Nothing of the user's is overwritten. Before a command works, checkNothingLost looks at
// all that it is asked to write: a file that the command reads is refused, and so is
// one that autotune did not write.

// Flags whose values are files that a command writes, and files that it reads.
var (
	outputFlags = []string{"json", "output", "record", "plot", "html", "junit", "markdown"}
	inputFlags  = []string{"from", "problems", "file", "config", "cache"}
)

// forceFlag lets an output replace any file that the command does not read.
func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "let an output replace a file that autotune did not write"}
}

// guardOutputs has a command, and those under it, look at its outputs first.
func guardOutputs(commands []*cli.Command) {
	for _, c := range commands {
		guardOutputs(c.Subcommands)
		if slices.ContainsFunc(outputFlags, func(name string) bool { return flagNamed(c.Flags, name) != nil }) {
			c.Flags = append(c.Flags, forceFlag())
			c.Before = checkNothingLost
		}
	}
}

func checkNothingLost(c *cli.Context) error {
	read := filesRead(c)
	for _, flag := range outputFlags {
		path := c.String(flag)
		if path == "" || path == output.Standard || isFolder(path) {
			continue
		}
		for _, input := range read {
			if output.Same(path, input) {
				return fmt.Errorf("--%s %s would replace a file that this command reads; name another file", flag, path)
			}
		}
		if err := output.Foreign(path); err != nil && !c.Bool("force") {
			return fmt.Errorf("--%s %s: %w; name another file, or add --force", flag, path, err)
		}
	}
	return nil
}

// filesRead are the files that a command may read: its arguments, with all that an
// operator's folder holds, and the values of flags.
func filesRead(c *cli.Context) []string {
	var all []string
	arguments := c.Args().Slice()
	if c.Command.Name == captureName { // they are another program's
		arguments = nil
	}
	for _, argument := range append(arguments, c.StringSlice("recording")...) {
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
	for _, flag := range inputFlags {
		if value := c.String(flag); value != "" {
			all = append(all, value)
		}
	}
	if _, recording, ok := strings.Cut(c.String("device"), "replay:"); ok {
		all = append(all, recording)
	}
	return all
}

// plotFlag is --plot. plotsIntoFolder is its rule, for all commands.
func plotFlag(more string) cli.Flag {
	return &cli.StringFlag{Name: "plot", Usage: "write PNG plots to the folder `PATH`; one plot alone may also go to a file, as plot.png" + more}
}

// imageEndings are those of paths that name one picture.
var imageEndings = []string{".png", ".svg", ".pdf", ".jpg", ".jpeg"}

// plotsIntoFolder tells whether a path of --plot names a folder, rather than one file. It
// does if it is a folder, ends as one, or is not there and does not end as a picture does.
// Plots in a folder have their usual names.
func plotsIntoFolder(path string) bool {
	if path == output.Standard {
		return false
	}
	if _, err := os.Lstat(path); err == nil {
		return isFolder(path)
	}
	return strings.HasSuffix(path, "/") || !slices.Contains(imageEndings, strings.ToLower(filepath.Ext(path)))
}

// plotFile is where a command's only plot goes: the path, or into the folder that
// it names, which is made.
func plotFile(path, name string) (string, error) {
	if !plotsIntoFolder(path) {
		return path, checkPicture(path)
	}
	return filepath.Join(path, name), os.MkdirAll(path, 0o755)
}

// checkPlotFolder checks where a command's plots go that draws several.
func checkPlotFolder(path string) error {
	if !plotsIntoFolder(path) {
		return errors.New("a search draws several plots; name a folder")
	}
	// It is made with the first plot: a search that fails leaves no empty folder.
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return output.CheckFolder(path)
}

// checkPicture refuses a new file that would not be what its name says.
func checkPicture(path string) error {
	_, err := os.Lstat(path)
	if ending := strings.ToLower(filepath.Ext(path)); err != nil && path != output.Standard && ending != ".png" {
		return fmt.Errorf("plots are PNG; name a file that ends in .png in place of %s, or a folder", ending)
	}
	return nil
}

// jsonFlag is --json of a command that prints what it knows.
func jsonFlag() cli.Flag {
	return &cli.StringFlag{Name: "json", Usage: "write it as JSON to `FILE`; - is standard output, in place of the text"}
}

// writeDocument writes the document as --json asks, and else the text.
func writeDocument(c *cli.Context, document any, text string) error {
	return writeShown(c, shown{
		table: func(w io.Writer) error { _, err := io.WriteString(w, text); return err },
		json:  func(w io.Writer) error { return printJSON(w, document) },
	})
}
