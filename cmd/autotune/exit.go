package main

import (
	"context"
	"errors"
	"strings"

	"autotune/internal/output"
	"autotune/reports/cudasource"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

// Exit codes, part of the command line's contract (docs/cli.md).
const (
	exitFound       = 0
	exitNoVariant   = 1
	exitBadInput    = 2
	exitDevice      = 3
	exitInterrupted = 130
)

// coded is an error that knows its exit code.
type coded struct {
	code int
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

func badInput(err error) error { return withCode(exitBadInput, err) }

func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{code, err}
}

// exitCode finds the exit code of an error. An error without a mark is of the user's
// input, unless it comes from a device.
func exitCode(err error) int {
	var c *coded
	var damaged *store.DamagedError
	var none *winners.NoneError
	var interrupted *batch.InterruptedError
	var notAll *batch.NotAllError
	switch {
	case errors.Is(err, context.Canceled): // whatever it was that could not be finished
		return exitInterrupted
	case errors.As(err, &damaged):
		return exitBadInput
	case errors.As(err, &interrupted):
		return exitInterrupted
	case errors.As(err, &notAll):
		return exitCode(notAll.Last)
	case errors.As(err, &none), errors.Is(err, cudasource.ErrSearchAgain): // an edited operator has no winner any more
		return exitNoVariant
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, tuner.ErrNoVariant):
		return exitNoVariant
	case devices.IsTrouble(err):
		return exitDevice
	}
	return exitBadInput
}

// explain turns an error into the one line that the user reads.
func explain(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return output.Line(strings.ReplaceAll(strings.TrimSpace(device.Reason(err)), "\n", "; "))
}
