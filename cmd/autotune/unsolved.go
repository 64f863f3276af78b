package main

import (
	"errors"
	"strings"

	"autotune/device"
	"autotune/operator"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/batch"
)

type unsolved struct{ rows []reports.Unsolved }

func (u *unsolved) failed(r batch.Request, err error) {
	u.add(problemText(r), statusOf(err), err)
}

func (u *unsolved) add(problem, status string, err error) {
	text := explain(err)
	if status != notSearched {
		tell(text)
	}
	u.rows = append(u.rows, reports.Unsolved{Problem: problem, Status: status,
		Reason: strings.TrimPrefix(text, problem+": ")})
}

const notSearched = "not searched"

// statusOf returns a word or two that say how a problem without a kernel ended.
func statusOf(err error) string {
	var refused *operator.RequestError
	var reference *device.ReferenceError
	switch {
	case errors.Is(err, batch.ErrNoTime):
		return notSearched
	case errors.Is(err, tuner.ErrNoVariant):
		return "no variant"
	case errors.Is(err, device.ErrMemory):
		return "too large"
	case errors.As(err, &refused):
		return "refused"
	case errors.As(err, &reference):
		return "no reference"
	}
	return "failed"
}

// problemText returns a problem with its parameters, as error messages show it.
func problemText(r batch.Request) string {
	p, err := r.Operator.Bind(r.Request, operator.TypicalLimits())
	if err != nil {
		return r.String()
	}
	return p.String()
}
