package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/recording"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

func cacheExportCommand() *cli.Command {
	return &cli.Command{
		Name: "export", Usage: "write the cached trials of a problem as a recording", ArgsUsage: "OPERATOR",
		Description: "They are the trials that were made as the winner was: on its device, with its compiler, driver and protocol.",
		Flags: append(slices.Concat(problemFlags(), conditionFlags()), cacheFlag(),
			whoseFlag("trials"),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "`FILE` to write; compressed if it ends in .gz; - is standard output"}),
		Action: cacheExportAction,
	}
}

func cacheImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take the trials of an exported recording into the cache", ArgsUsage: "FILE [OPERATOR]",
		Description: "An operator that is not built in is named by its folder. Trials of kernels that were edited since are left out.",
		Flags:       []cli.Flag{cacheFlag()},
		Action:      cacheImportAction,
	}
}

func cacheExportAction(c *cli.Context) error {
	path := c.String("output")
	if path == "" {
		return badInput(errors.New("name the file to write: -o FILE"))
	}
	w, err := askCache(c, &winners.Request{Trials: true, Device: c.String("device"), Tool: tool()})
	if err != nil {
		return err
	}
	r := reports.Recorded(&tuner.Result{Record: w.Kept.Record, Problem: w.Problem, Trials: w.Trials}, tool())
	r.Metadata.ReferenceDigest, r.Metadata.Arch = w.Kept.ReferenceDigest, w.Kept.Arch()
	if err := recording.Write(path, r); err != nil {
		return badInput(err)
	}
	tell(w.Notices)
	fmt.Fprintf(c.App.ErrWriter, "autotune: wrote %s of %s on %s to %s\n", output.Count(len(w.Trials), "trial"), w.Problem, w.Kept.Device.Name, path)
	return nil
}

func cacheImportAction(c *cli.Context) error {
	if c.NArg() < 1 || c.NArg() > 2 {
		return badInput(errors.New("name one recording, and the operator's folder if it is not built in"))
	}
	path := c.Args().First()
	r, err := recording.Load(c.Context, path)
	if err != nil {
		return badInput(err)
	}
	name := r.Metadata.Problem.Operator
	if c.NArg() == 2 {
		name = c.Args().Get(1)
	}
	op, err := findOperator(name)
	if err == nil && op.Name != r.Metadata.Problem.Operator {
		err = fmt.Errorf("%s is of %s, not of %s", path, r.Metadata.Problem.Operator, op.Name)
	}
	if err != nil {
		return badInput(err)
	}
	id, entries, err := winners.Imported(c.Context, r, op)
	if err != nil {
		return badInput(fmt.Errorf("%s cannot be imported: %w", path, err))
	}
	s, err := openStore(c, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	tally, err := s.Add(c.Context, id, entries)
	if err != nil {
		return badInput(err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "took %s of %s; %d were known, %d are of kernels that were edited since\n",
		output.Count(tally.Trials, "trial"), id, len(entries)-tally.Trials, len(r.Trials)-len(entries))
	return err
}
