package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
)

// delivery prints results and writes the files that the flags ask for. One
// problem's files have plain names; of many, each has the problem's in front.
type delivery struct {
	json, plot, record string
	many               bool
	out                io.Writer // for people; standard error when JSON takes standard output
	all                []reports.BestConfig
}

func newDelivery(c *cli.Context, problems int) *delivery {
	d := &delivery{json: c.String("json"), plot: c.String("plot"), record: c.String("record"), many: problems > 1, out: os.Stdout}
	if d.json == "-" {
		d.out = os.Stderr
	}
	return d
}

// deliver prints one result and writes the files that are its own.
func (d *delivery) deliver(r *tuner.Result, best reports.BestConfig) error {
	if d.many && len(d.all) > 0 {
		fmt.Fprintln(d.out)
	}
	if err := reports.Table(d.out, best); err != nil {
		return err
	}
	if best.Found() {
		d.all = append(d.all, best)
		if err := d.plotFile(best, "speedup.png", func(w io.Writer) error { return reports.SpeedupPlot(w, best) }); err != nil {
			return err
		}
	}
	if err := d.plotFile(best, "progress.png", func(w io.Writer) error { return reports.ProgressPlot(w, best, r.Trials) }); err != nil {
		return err
	}
	return d.writeRecording(r, best)
}

func (d *delivery) plotFile(best reports.BestConfig, name string, draw func(io.Writer) error) error {
	if d.plot == "" {
		return nil
	}
	if d.many {
		name = fmt.Sprintf("%s-%s-%s-%s", best.Operator, operator.FormatShape(best.Problem.Shape), best.Problem.Math, name)
	}
	path := filepath.Join(d.plot, name)
	return d.wrote(path, reports.ToFile(path, draw))
}

func (d *delivery) writeRecording(r *tuner.Result, best reports.BestConfig) error {
	if d.record == "" {
		return nil
	}
	recorded := reports.Recorded(r, best.Tool)
	path := d.record
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, recording.FileName(recorded.Metadata))
	}
	return d.wrote(path, recording.Write(path, recorded))
}

// finish writes what is about all results together.
func (d *delivery) finish() error {
	if d.many && d.plot != "" && len(d.all) > 0 {
		path := filepath.Join(d.plot, "summary.png")
		err := reports.ToFile(path, func(w io.Writer) error { return reports.SummaryPlot(w, d.all) })
		if err := d.wrote(path, err); err != nil {
			return badInput(err)
		}
	}
	switch {
	case d.json == "" || len(d.all) == 0:
		return nil
	case d.json == "-":
		return d.writeJSON(os.Stdout)
	}
	return badInput(d.wrote(d.json, reports.ToFile(d.json, d.writeJSON)))
}

// writeJSON writes the best configuration, or a list of them.
func (d *delivery) writeJSON(w io.Writer) error {
	if !d.many {
		return d.all[0].WriteJSON(w)
	}
	return reports.WriteJSONList(w, d.all)
}

// wrote tells of a file, unless it could not be written.
func (d *delivery) wrote(path string, err error) error {
	if err == nil {
		fmt.Fprintln(d.out, "wrote", path)
	}
	return err
}
