package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/operator"
	"autotune/pack/capture"
	"autotune/program/optimize"
	"autotune/tuner/batch"
	"autotune/tuner/devices"
	"autotune/tuner/store"
)

type optimizeFlags struct {
	device       deviceFlags
	cache        string
	budget, time time.Duration
	output       string
	untimed      bool
	view         view
}

func optimizeCommand() *cli.Command {
	var f optimizeFlags
	return command("optimize FILE.py", "make a PyTorch program faster: its layers fused, in kernels that were searched for it",
		"The file has a class Model and the functions get_inputs and get_init_inputs. Each chain of layers that one "+
			"kernel can compute is searched; the program with the kernels is timed in turns with PyTorch, torch.compile and "+
			"CUDA graphs of both. What does not pay is left out. The file that is written has a class ModelNew, with the same "+
			"parameters.",
		f.optimize, slices.Concat([]flag{
			f.device.flag(""), cacheFlag(&f.cache),
			timeFlag(&f.budget, "budget", time.Minute, "search for about this `LONG` in all; 0: no limit"),
			timeFlag(&f.time, "time", 10*time.Second, "search a region for at most this `LONG`"),
			textFlag(&f.output, "output", "model_new.py", "`FILE` to write; - is standard output", "o"),
			boolFlag(&f.untimed, "untimed", "write the program with all that was found, and do not time it whole"),
			f.view.quietFlag(),
		})...)
}

func (f *optimizeFlags) optimize(ctx context.Context, l line) (err error) {
	if len(l.arguments) != 1 {
		return errors.New("which program? `autotune optimize model.py` takes one Python file")
	}
	if f.budget < 0 || f.time <= 0 {
		return errors.New("--budget takes a time that is not negative, and --time one above 0")
	}
	if err := output.Check(f.output); err != nil {
		return err
	}
	operators, err := operator.Operators()
	if err != nil {
		return err
	}
	opener, err := f.device.opener(f.view, devices.Options{})
	if err != nil {
		return err
	}
	open, closeStore := lazily(ctx, f.cache)
	defer func() { err = errors.Join(err, opener.Close(), closeStore()) }()
	done, err := optimize.Run(ctx, l.first(), optimize.Options{
		Operators: operators, Opener: opener, Untimed: f.untimed, Tool: tool(),
		Search: func(problems int) (batch.Options, error) { return f.searches(problems, open) },
		Await:  func(what string) func() { return f.view.await(what).Done },
	})
	if done != nil && (err == nil || errors.Is(err, optimize.ErrNothing)) {
		err = errors.Join(err, f.write(done, err == nil))
	}
	if errors.Is(err, optimize.ErrNothing) {
		return withCode(exitNoVariant, err)
	}
	var fault *capture.ExportError
	if errors.As(err, &fault) && strings.Contains(fault.Said, "Traceback") { // of the user's own code
		_, _ = io.WriteString(output.Plain(os.Stderr), fault.Said)
	}
	return err
}

// searches returns how the problems are searched: by the default strategy, each for --time at most.
func (f *optimizeFlags) searches(problems int, open func() (*store.Store, error)) (batch.Options, error) {
	conditions, err := (&conditionFlags{}).conditions()
	show := newShown(f.view, conditionFlags{}, "", problems)
	search := usualSearch(f.time)
	search.Conditions = conditions
	return batch.Options{
		Search: search, Budget: f.budget, Store: open, Tool: tool(), Notice: tell, With: show.search, Stands: show.all.Print,
	}, err
}

// write writes the program where something pays, and the table in any case.
func (f *optimizeFlags) write(done *optimize.Result, pays bool) error {
	if pays {
		if err := output.To(f.output, func(w io.Writer) error { _, err := w.Write(done.Text); return err }); err != nil {
			return err
		}
	}
	if f.output == output.Standard {
		return nil
	}
	if err := done.WriteText(stdout); err != nil || !pays {
		return err
	}
	_, err := fmt.Fprintln(stdout, "wrote "+f.output)
	return err
}
