package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/recording"
	"autotune/internal/input"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/export"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/devices"
	"autotune/tuner/final"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

type winnerFlags struct {
	problem             problemFlags
	conditions          conditionFlags
	cache, device, from string
}

func (f *winnerFlags) flags() []flag {
	return append(append(f.problem.flags(), f.conditions.flags()...), cacheFlag(&f.cache),
		whoseFlag(&f.device, "winner"),
		textFlag(&f.from, "from", "",
			"instead of the cache take `FILE`, a best-config document or a recording; replay: the shipped one"))
}

func bestCommand() *cli.Command {
	var f winnerFlags
	var json string
	return command("best OPERATOR", "show the best configuration that the cache knows; needs no GPU", "",
		func(ctx context.Context, l line) error {
			w, err := f.choose(ctx, l, winners.Request{})
			if err != nil {
				return err
			}
			return write(json, func(out io.Writer) error { return reports.SearchTable(out, w.best, nil) }, w.best.WriteJSON)
		}, append(f.flags(), jsonFlag(&json))...)
}

type exportFlags struct {
	winnerFlags
	format, output string
}

func exportCommand() *cli.Command {
	var f exportFlags
	return command("export OPERATOR", "write the best configuration in a format for other programs; needs no GPU",
		"Formats: "+export.Summary()+".",
		f.export, append(f.flags(),
			textFlag(&f.format, "format", "json", "output `FORMAT`: "+strings.Join(export.Names(), ", ")),
			textFlag(&f.output, "output", "-", "`FILE` to write; - is standard output", "o"))...)
}

func (f *exportFlags) export(ctx context.Context, l line) error {
	if err := oneOf("format", f.format, export.Names()); err != nil {
		return err
	}
	format := export.Formats[slices.Index(export.Names(), f.format)]
	w, err := f.choose(ctx, l, winners.Request{})
	if err != nil {
		return err
	}
	kernel := func() (cudasource.Winner, error) { return w.kernel(l) }
	// The command writes the output file last, so that the file keeps its contents if the format cannot express the
	// winner's kernel.
	var text bytes.Buffer
	said := view{}.await("writing the winner as " + format.Name)
	notes, err := format.Write(ctx, &text, export.Winner{Best: w.best, Path: f.output, Kernel: kernel})
	said.Done()
	if err != nil {
		return err
	}
	err = output.To(f.output, func(out io.Writer) error { _, err := text.WriteTo(out); return err })
	if err == nil {
		tellAll(notes)
	}
	return err
}

// chosen is the winner that a command works on. The kernel of a winner from a best-config document is not known at
// first; the method kernel finds it.
type chosen struct {
	best bestconfig.Document
	*winners.Chosen
}

// choose finds the winner that the flags name: in the cache, in a best-config document or in a recording. The argument
// r says which parts of the winner the command needs.
func (f *winnerFlags) choose(ctx context.Context, l line, r winners.Request) (chosen, error) {
	w, err := f.find(ctx, l, r)
	if err != nil || !f.conditions.asked() {
		return w, err
	}
	conditions, err := f.conditions.conditions()
	if err == nil && w.best.Conditions != conditions {
		err = fmt.Errorf("%s holds a winner timed with %s, not with %s", f.from, w.best.Conditions, conditions)
	}
	return w, err
}

func (f *winnerFlags) find(ctx context.Context, l line, r winners.Request) (_ chosen, err error) {
	kind, _, _ := strings.Cut(f.device, ":")
	if p := device.Kind(kind).Properties(); p.Kind != "" && !p.Persists {
		return chosen{}, fmt.Errorf("--device %s: the cache keeps nothing of %s; --from %[1]s takes the winner from there",
			f.device, p.Label)
	}
	r.Device, r.Tool = f.device, tool()
	file, replayed := strings.CutPrefix(f.from, "replay:")
	var w winners.Chosen
	switch {
	case f.from == "":
		w, err = f.inCache(ctx, l, r)
	case f.from == "replay":
		w, err = f.shipped(ctx, l, r)
	case replayed || recording.Is(f.from):
		w, err = f.recorded(ctx, l, r, file)
	default:
		return f.inDocument(ctx, l, r)
	}
	if err != nil {
		return chosen{}, err
	}
	tellAll(w.Notices)
	return chosen{w.Best, &w}, nil
}

// read adds the problem and the conditions that the flags name to the request. read returns an error for a problem that
// no device can run.
func (f *winnerFlags) read(l line, r *winners.Request) (err error) {
	if r.Operator, err = operatorArgument(l); err != nil {
		return err
	}
	if r.Request, err = f.problem.request(r.Operator, nil); err != nil {
		return err
	}
	if r.Conditions, err = f.conditions.conditions(); err != nil {
		return err
	}
	return r.Check()
}

// inCache finds the winner in the cache; without a cache, inCache finds no winner.
func (f *winnerFlags) inCache(ctx context.Context, l line, r winners.Request) (w winners.Chosen, err error) {
	w, err = f.askCache(ctx, l, &r)
	var absent *store.AbsentError
	if errors.As(err, &absent) {
		err = withCode(exitNoVariant, fmt.Errorf("%w%s", absent, r.ShippedHint()))
	}
	return w, err
}

func (f *winnerFlags) askCache(ctx context.Context, l line, r *winners.Request) (w winners.Chosen, err error) {
	if err := f.read(l, r); err != nil {
		return w, err
	}
	s, err := openStore(ctx, f.cache, store.Options{ReadOnly: true, Wait: readWait})
	if err != nil {
		return w, err
	}
	defer s.Close()
	return r.InCache(ctx, s)
}

func (f *winnerFlags) shipped(ctx context.Context, l line, r winners.Request) (w winners.Chosen, err error) {
	if err := f.read(l, &r); err != nil {
		return w, err
	}
	w, err = r.Shipped(ctx)
	if errors.Is(err, recording.ErrNotFound) {
		on := ""
		if r.Device != "auto" {
			on = " on a device called " + r.Device
		}
		err = withCode(exitNoVariant, fmt.Errorf("no recording of %s%s is shipped; `autotune devices` lists those that are",
			r, on))
	}
	return w, err
}

// recorded finds the winner in a recording. A recording names its problem, so flags that name a problem, too, must name
// the same one.
func (f *winnerFlags) recorded(ctx context.Context, l line, r winners.Request, path string) (w winners.Chosen,
	err error) {
	if path == "" {
		return w, errors.New("--from replay: lacks a file; want replay:FILE, or replay for the recording that is shipped")
	}
	recorded, err := recording.Load(ctx, path)
	if err != nil {
		return w, err
	}
	m := recorded.Metadata
	if r.Operator, err = operatorOr(l, m.Problem.Operator); err != nil {
		return w, err
	}
	if r.Operator.Name != m.Problem.Operator {
		return w, fmt.Errorf("%s is of %s, not of %s", path, m.Problem.Operator, r.Operator.Name)
	}
	r.Request = m.Problem.Request()
	if f.problem.given() {
		if r.Request, err = f.problem.request(r.Operator, nil); err != nil {
			return w, err
		}
	}
	if err := sameDevice(r, path, m.Device); err != nil {
		return w, err
	}
	return r.Recorded(ctx, recorded)
}

// inDocument reads the winner, with its problem, from a best-config document.
func (f *winnerFlags) inDocument(ctx context.Context, l line, r winners.Request) (chosen, error) {
	if f.problem.given() {
		return chosen{}, fmt.Errorf("--from %s names the problem; leave --shape, --set and --math away", f.from)
	}
	if r.Trials {
		return chosen{}, fmt.Errorf("%s holds the winner alone; the trials are in the cache, or in a recording", f.from)
	}
	list, err := input.File(ctx, f.from, bestconfig.ReadAll)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%s holds %s; %s takes one", f.from, output.Count(len(list), "document"),
			strings.TrimPrefix(l.command, "autotune "))
	}
	if err != nil {
		return chosen{}, err
	}
	return chosen{best: list[0]}, sameDevice(r, f.from, list[0].Device)
}

// sameDevice returns an error if a file was made on another device than the one that the request asks for.
func sameDevice(r winners.Request, path string, d device.Info) error {
	if r.Means(d) {
		return nil
	}
	return fmt.Errorf("%s is of %s; --device %s means another", path, d.Name, r.Device)
}

// kernel returns the winner with the source of its kernel. A command line with --from may leave out the operator.
func (w chosen) kernel(l line) (cudasource.Winner, error) {
	if w.Chosen != nil {
		return w.Winner, nil
	}
	op, err := operatorOr(l, w.best.Operator)
	if err != nil {
		return cudasource.Winner{}, err
	}
	return cudasource.Of(w.best, op, operator.TypicalLimits(), tool())
}

// operatorOr returns the operator that the command's argument names or, without one, the operator named name.
func operatorOr(l line, name string) (*operator.Operator, error) {
	if len(l.arguments) > 0 {
		return operatorArgument(l)
	}
	return findOperator(name)
}

// rerun holds the winner of an earlier search and an open device on which the winner can be timed again.
type rerun struct {
	final.Subject
	close func() error
}

// rerun opens the winner's problem on the device of --device, or else on a device of the same kind as the one on which
// the winner was found.
func (w chosen) rerun(ctx context.Context, l line, v view, named string) (a rerun, err error) {
	k, err := w.kernel(l)
	if err != nil {
		return a, err
	}
	d := deviceFlags{device: named}
	if _, err := devices.Parse(named); err != nil || named == "auto" {
		d.device = string(w.best.Device.Kind)
	}
	opener, err := d.opener(v, devices.Options{Runs: true})
	if err != nil {
		return a, err
	}
	opened, err := opener.Open(ctx, k.Problem.Operator, w.best.Problem.Request())
	if err != nil {
		return a, err
	}
	a.close = opener.Close
	if opened.Notice != "" {
		tell(opened.Notice)
	}
	if !opened.Problem.Admits(w.best.Configuration) {
		err = fmt.Errorf("%s does not fit %s; search there, or name another --device", w.best.Configuration,
			opened.Device.Info().Name)
		return a, errors.Join(err, opener.Close())
	}
	protocol := device.ProtocolFor(opened.Problem.Operator)
	if opened.Device.Info().Kind.Properties().Measures {
		protocol.Conditions = w.best.Conditions
	}
	a.Subject = final.Subject{Problem: opened.Problem, Device: opened.Device, Protocol: protocol, Launches: final.Launches}
	return a, nil
}
