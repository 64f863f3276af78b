package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/device/replay"
	"autotune/tuner/operator"
)

// outputs prints results and writes the files that the flags ask for. One
// problem's files have plain names; of many, each has the problem's in front.
type outputs struct {
	json, plot, record string
	many               bool
	out                io.Writer // for people; standard error when JSON takes standard output
	all                []reports.BestConfig
	plots              []func() error // drawn when all else is written
}

func newOutputs(c *cli.Context, problems int) *outputs {
	o := &outputs{json: c.String("json"), plot: c.String("plot"), record: c.String("record"), many: problems > 1, out: os.Stdout}
	if o.json == "-" {
		o.out = os.Stderr
	}
	return o
}

// deliver prints one result and writes the files that are its own.
func (o *outputs) deliver(r *tuner.Result, best reports.BestConfig) error {
	if o.many && len(o.all) > 0 {
		fmt.Fprintln(o.out)
	}
	if err := reports.Table(o.out, best); err != nil {
		return err
	}
	if best.Found() {
		o.all = append(o.all, best)
		o.plotLater(best, "speedup.png", func(w io.Writer) error { return reports.SpeedupPlot(w, best) })
	}
	o.plotLater(best, "progress.png", func(w io.Writer) error { return reports.ProgressPlot(w, best, r.Trials) })
	return o.writeRecording(r, best)
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
	return o.wrote(path, reports.ToFile(path, draw))
}

func (o *outputs) writeRecording(r *tuner.Result, best reports.BestConfig) error {
	if o.record == "" {
		return nil
	}
	recording := reports.Recorded(r, best.Tool)
	path := o.record
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, replay.FileName(recording.Metadata))
	}
	return o.wrote(path, replay.Write(path, recording))
}

// finish writes what is about all results together, and draws the plots.
func (o *outputs) finish() error {
	var err error
	switch {
	case o.json == "" || len(o.all) == 0:
	case o.json == "-":
		err = o.writeJSON(os.Stdout)
	default:
		err = o.wrote(o.json, reports.ToFile(o.json, o.writeJSON))
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
	if err == nil {
		fmt.Fprintln(o.out, "wrote", path)
	}
	return err
}

// outputsWritable finds out before the search, not after it, that an output
// cannot be written.
func outputsWritable(c *cli.Context, problems int) error {
	for _, flag := range []string{"json", "record"} {
		path := c.String(flag)
		if path == "" || path == "-" {
			continue
		}
		if err := writableDir(filepath.Dir(path)); err != nil {
			return badInput(fmt.Errorf("--%s %s: %w", flag, path, err))
		}
		info, err := os.Stat(path)
		folder := err == nil && info.IsDir()
		if flag == "record" && problems > 1 && !folder {
			return badInput(fmt.Errorf("--record %s: with several problems, name an existing folder", path))
		}
		if flag == "json" && folder {
			return badInput(fmt.Errorf("--%s %s: is a folder; name a file", flag, path))
		}
	}
	if dir := c.String("plot"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return badInput(fmt.Errorf("--plot %s: %w", dir, err))
		}
		if err := writableDir(dir); err != nil {
			return badInput(fmt.Errorf("--plot %s: %w", dir, err))
		}
	}
	return nil
}

func writableDir(dir string) error {
	f, err := os.CreateTemp(dir, ".autotune-*")
	if err != nil {
		return fmt.Errorf("cannot write there: %w", errors.Unwrap(err))
	}
	f.Close()
	return os.Remove(f.Name())
}
