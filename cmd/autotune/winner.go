package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/recording"
	"autotune/internal/input"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/reports"
	"autotune/reports/export"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

func bestCommand() *cli.Command {
	return &cli.Command{
		Name:      "best",
		Usage:     "show the best configuration that the cache knows; needs no GPU",
		ArgsUsage: "OPERATOR",
		Flags: append(winnerFlags(),
			&cli.StringFlag{Name: "json", Usage: "write the best configuration to `FILE`; - is standard output"}),
		Action: bestAction,
	}
}

func bestAction(c *cli.Context) error {
	w, err := chooseWinner(c, winners.Request{})
	if err != nil {
		return err
	}
	if path := c.String("json"); path != "" {
		return output.To(path, w.best.WriteJSON)
	}
	return reports.SearchTable(c.App.Writer, w.best, reports.Details{})
}

// whoseFlag chooses among the devices that the cache has something of.
func whoseFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "device", Value: "auto", Usage: "whose " + what + ": `DEVICE` is a kind (cuda, emulator) or part of a GPU's name; auto takes a GPU's before the emulator's"}
}

// winnerFlags say which winner of which problem is meant.
func winnerFlags() []cli.Flag {
	return append(slices.Concat(problemFlags(), conditionFlags()), cacheFlag(),
		whoseFlag("winner"), objectiveFlag(),
		&cli.StringFlag{Name: "from", Usage: "instead of the cache take `FILE`, a best-config document or a recording; replay takes the recording that is shipped"})
}

func exportCommand() *cli.Command {
	return &cli.Command{
		Name:        "export",
		Usage:       "write the best configuration in a format for other programs; needs no GPU",
		ArgsUsage:   "OPERATOR",
		Description: "Formats: " + export.Summary() + ".",
		Flags: append(winnerFlags(),
			&cli.BoolFlag{Name: "all", Usage: "with --format csv or md: every trial of the problem, not the winner alone"},
			&cli.StringFlag{Name: "format", Value: "json", Usage: "output `FORMAT`: " + strings.Join(export.Names(), ", ")},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "-", Usage: "`FILE` to write; - is standard output"}),
		Action: exportAction,
	}
}

func exportAction(c *cli.Context) error {
	name := c.String("format")
	if err := oneOf("format", name, export.Names()); err != nil {
		return err
	}
	format := export.Formats[slices.Index(export.Names(), name)]
	if c.Bool("all") && !format.Trials {
		return errors.New("--all goes with --format csv or md; the other formats are of one configuration")
	}
	w, err := chooseWinner(c, winners.Request{Trials: c.Bool("all")})
	if err != nil {
		return err
	}
	given := export.Winner{
		Best: w.best, Path: c.String("output"), Force: c.Bool("force"), Kernel: func() (cudasource.Winner, error) { return w.kernelOf(c) },
	}
	if w.Chosen != nil {
		given.Trials = w.Trials
	}
	// The file is touched at last: a format that cannot say something of this kernel
	// leaves it as it was.
	var text bytes.Buffer
	said := await(c, "writing the winner as "+format.Name)
	notes, err := format.Write(c.Context, &text, given)
	said.done()
	if err != nil {
		return err
	}
	err = output.To(given.Path, func(out io.Writer) error { _, err := text.WriteTo(out); return err })
	if err == nil {
		tell(notes)
	}
	return err
}

// chosen is the winner that best and export answer with. One of a document has no
// kernel yet: kernelOf looks for it.
type chosen struct {
	best bestconfig.Document
	*winners.Chosen
}

// chooseWinner finds the winner that the flags mean: in the cache, in a document
// or in a recording. The request says what else is wanted of it.
func chooseWinner(c *cli.Context, r winners.Request) (chosen, error) {
	w, err := winnerMeant(c, r)
	if err != nil || !conditionsAsked(c) {
		return w, err
	}
	conditions, err := conditionsOf(c)
	if err == nil && w.best.Conditions != conditions {
		err = fmt.Errorf("%s holds a winner timed with %s, not with %s", c.String("from"), w.best.Conditions, conditions)
	}
	return w, err
}

func winnerMeant(c *cli.Context, r winners.Request) (chosen, error) {
	from := c.String("from")
	file, replayed := strings.CutPrefix(from, "replay:")
	kind, _, _ := strings.Cut(c.String("device"), ":")
	properties := device.Kind(kind).Properties()
	find := winnerRecorded
	switch {
	case properties.Kind != "" && !properties.Persists:
		return chosen{}, fmt.Errorf("--device %s: the cache keeps nothing of %s; --from %[1]s takes the winner from there", c.String("device"), properties.Label)
	case from == "":
		find = winnerInCache
	case from == "replay":
		find = winnerShipped
	case !replayed && !recording.Is(from):
		return winnerInDocument(c, from, r.Trials)
	}
	r.Device, r.Tool = c.String("device"), tool()
	w, err := find(c, r, file)
	if err != nil {
		return chosen{}, err
	}
	tell(w.Notices)
	return chosen{w.Best, &w}, nil
}

// readRequest adds what the flags say of a problem and its winner. A problem that is
// wrong on every device is refused at once.
func readRequest(c *cli.Context, r *winners.Request) (err error) {
	if r.Operator, err = operatorArgument(c); err != nil {
		return err
	}
	if r.Request, err = problemRequest(c, r.Operator); err != nil {
		return err
	}
	if r.Conditions, err = conditionsOf(c); err != nil {
		return err
	}
	if name := c.String("objective"); name != "" { // a command without the flag means the time
		if r.Objective, err = tuner.ParseObjective(r.Operator, name); err != nil {
			return err
		}
	}
	return r.Check()
}

// winnerInCache answers from the cache that the flags name. Without one there is no winner.
func winnerInCache(c *cli.Context, r winners.Request, _ string) (winners.Chosen, error) {
	w, err := askCache(c, &r)
	var absent *store.AbsentError
	if errors.As(err, &absent) {
		err = withCode(exitNoVariant, fmt.Errorf("%w%s", absent, r.ShippedHint()))
	}
	return w, err
}

func askCache(c *cli.Context, r *winners.Request) (w winners.Chosen, err error) {
	if err := readRequest(c, r); err != nil {
		return w, err
	}
	s, err := openStore(c, store.Options{ReadOnly: true, Wait: 5 * time.Second})
	if err != nil {
		return w, err
	}
	defer s.Close()
	return r.InCache(c.Context, s)
}

// winnerShipped answers from the recordings in this binary.
func winnerShipped(c *cli.Context, r winners.Request, _ string) (w winners.Chosen, err error) {
	if err := readRequest(c, &r); err != nil {
		return w, err
	}
	w, err = r.Shipped(c.Context)
	if errors.Is(err, recording.ErrNotFound) {
		on := ""
		if r.Device != "auto" {
			on = " on a device called " + r.Device
		}
		err = withCode(exitNoVariant, fmt.Errorf("no recording of %s%s is shipped; `autotune devices` lists those that are", r, on))
	}
	return w, err
}

// winnerRecorded answers from a file. It names the problem, which the flags may name too.
func winnerRecorded(c *cli.Context, r winners.Request, path string) (w winners.Chosen, err error) {
	if path == "" {
		return w, errors.New("--from replay: lacks a file; want replay:FILE, or replay for the recording that is shipped")
	}
	recorded, err := recording.Load(c.Context, path)
	if err != nil {
		return w, err
	}
	m := recorded.Metadata
	if r.Operator, err = operatorOr(c, m.Problem.Operator); err != nil {
		return w, err
	}
	if r.Operator.Name != m.Problem.Operator {
		return w, fmt.Errorf("%s is of %s, not of %s", path, m.Problem.Operator, r.Operator.Name)
	}
	r.Request = m.Problem.Request()
	if namesProblem(c) {
		if r.Request, err = problemRequest(c, r.Operator); err != nil {
			return w, err
		}
	}
	if err := sameDevice(r, path, m.Device); err != nil {
		return w, err
	}
	return r.Recorded(c.Context, recorded)
}

// winnerInDocument reads a best-config document, which names the problem.
func winnerInDocument(c *cli.Context, path string, trials bool) (chosen, error) {
	if namesProblem(c) {
		return chosen{}, fmt.Errorf("--from %s names the problem; leave --shape, --set and --math away", path)
	}
	if trials {
		return chosen{}, fmt.Errorf("%s holds the winner alone; --all takes the trials of the cache or of a recording", path)
	}
	list, err := input.File(c.Context, path, bestconfig.ReadAll)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%s holds %s; %s takes one", path, output.Count(len(list), "document"), c.Command.Name)
	}
	if err != nil {
		return chosen{}, err
	}
	return chosen{best: list[0]}, sameDevice(winners.Request{Device: c.String("device")}, path, list[0].Device)
}

func namesProblem(c *cli.Context) bool {
	return c.IsSet("shape") || c.IsSet("set") || c.IsSet("math") || c.IsSet("free")
}

// sameDevice refuses a file of another device than the request is for.
func sameDevice(r winners.Request, path string, d device.Info) error {
	if r.Means(d) {
		return nil
	}
	return fmt.Errorf("%s is of %s; --device %s means another", path, d.Name, r.Device)
}

// kernelOf finds the kernel of a winner. With --from the operator need not be
// named.
func (w chosen) kernelOf(c *cli.Context) (cudasource.Winner, error) {
	if w.Chosen != nil {
		return w.Winner, nil
	}
	op, err := operatorOr(c, w.best.Operator)
	if err != nil {
		return cudasource.Winner{}, err
	}
	return cudasource.Of(w.best, op, operator.TypicalLimits(), tool())
}

// operatorOr is the operator that the command's argument names, or else the one
// with that name.
func operatorOr(c *cli.Context, name string) (*operator.Operator, error) {
	if c.NArg() > 0 {
		return operatorArgument(c)
	}
	return findOperator(name)
}

func tool() string { return "autotune " + version() }
