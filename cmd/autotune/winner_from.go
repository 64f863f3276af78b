package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner/device"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
)

// winnerInDocument reads a best-config document, which names the problem.
func winnerInDocument(c *cli.Context, path string) (chosen, error) {
	if namesProblem(c) {
		return chosen{}, badInput(fmt.Errorf("--from %s names the problem; leave --shape, --set and --math away", path))
	}
	if takesTrials(c) {
		return chosen{}, badInput(fmt.Errorf("%s holds the winner alone; --all takes the trials of the cache or of a recording", path))
	}
	list, err := readBests(c.Context, path)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%s holds %s; %s takes one", path, output.Count(len(list), "document"), c.Command.Name)
	}
	if err != nil {
		return chosen{}, badInput(err)
	}
	return chosen{best: list[0]}, sameDevice(c, path, list[0].Device)
}

func namesProblem(c *cli.Context) bool { return c.IsSet("shape") || c.IsSet("set") || c.IsSet("math") }

// onDevice tells of the device that --device means, if it means one.
func onDevice(name string) string {
	if name == "auto" {
		return ""
	}
	return " on a device called " + name
}

// sameDevice refuses a file of another device than the flag --device means.
func sameDevice(c *cli.Context, path string, d device.Info) error {
	if name := c.String("device"); !called(d, name) {
		return badInput(fmt.Errorf("%s is of %s; --device %s means another", path, d.Name, name))
	}
	return nil
}

// kernelOf finds the kernel of a winner. With --from the operator need not be
// named.
func (w chosen) kernelOf(c *cli.Context) (cudasource.Winner, error) {
	if w.kernel != nil {
		return *w.kernel, nil
	}
	op, err := operatorOr(c, w.best.Operator)
	if err != nil {
		return cudasource.Winner{}, badInput(err)
	}
	kernel, err := cudasource.Of(w.best, op, emulator.Limits(), tool())
	return kernel, refusal(err)
}

// operatorOr is the operator that the command's argument names, or else the one
// with that name.
func operatorOr(c *cli.Context, name string) (*operator.Operator, error) {
	if c.NArg() > 0 {
		return operatorArgument(c)
	}
	return findOperator(name)
}

// holdsRecording tells whether a regular file begins as recordings do: packed, or
// with one of their keys.
func holdsRecording(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	text := bufio.NewReader(io.LimitReader(f, 1<<16))
	if head, err := text.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return true
	}
	decoder := json.NewDecoder(text)
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	key, err := decoder.Token()
	return err == nil && (key == "schema_version" || key == "metadata" || key == "results")
}

// winnerShipped takes the recording of exactly the problem that the flags name
// among those in this binary.
func winnerShipped(c *cli.Context) (chosen, error) {
	a, err := askedProblem(c)
	if err != nil {
		return chosen{}, err
	}
	name := c.String("device")
	entry, p, err := recording.FindRequestOn(recording.Shipped(), a.operator, a.request, func(d device.Info) bool { return called(d, name) })
	if errors.Is(err, recording.ErrNotFound) {
		return chosen{}, withCode(exitNoVariant, fmt.Errorf("no recording of %s%s is shipped; `autotune devices` lists those that are", a, onDevice(name)))
	}
	if err != nil {
		return chosen{}, err
	}
	r, err := recording.LoadFS(recording.Shipped(), entry.Name)
	if err != nil {
		return chosen{}, err
	}
	return fastestRecorded(c, r, p)
}

// winnerRecorded takes a file. It names the problem, which the flags may name too.
func winnerRecorded(c *cli.Context, path string) (chosen, error) {
	if path == "" {
		return chosen{}, badInput(errors.New("--from replay: lacks a file; want replay:FILE, or replay for the recording that is shipped"))
	}
	r, err := recording.Load(c.Context, path)
	if err != nil {
		return chosen{}, badInput(err)
	}
	m := r.Metadata
	op, err := operatorOr(c, m.Problem.Operator)
	if err == nil && op.Name != m.Problem.Operator {
		err = fmt.Errorf("%s is of %s, not of %s", path, m.Problem.Operator, op.Name)
	}
	if err != nil {
		return chosen{}, badInput(err)
	}
	request := m.Problem.Request()
	if namesProblem(c) {
		if request, err = problemRequest(c, op); err != nil {
			return chosen{}, err
		}
	}
	p, err := op.Bind(request, m.Device.Limits)
	if err == nil && p.String() != m.Problem.Text {
		err = fmt.Errorf("%s holds %s, not %s", path, m.Problem.Text, p)
	}
	if err != nil {
		return chosen{}, badInput(err)
	}
	if err := sameDevice(c, path, m.Device); err != nil {
		return chosen{}, err
	}
	return fastestRecorded(c, r, p)
}

// fastestRecorded is the fastest right variant of a recording.
func fastestRecorded(c *cli.Context, r *recording.Recording, p *operator.Problem) (chosen, error) {
	best, trials, err := reports.FromRecording(r, p)
	if err != nil {
		return chosen{}, err
	}
	kernel, err := cudasource.Of(best, p.Operator, r.Metadata.Device.Limits, tool())
	if err != nil {
		return chosen{}, refusal(fmt.Errorf("%s: %w", r.File, err))
	}
	w := chosen{best: kernel.Best, kernel: &kernel}
	if takesTrials(c) {
		w.trials, err = currentTrials(c, p, trials)
	}
	return w, err
}
