// Package winners chooses the winner that a user means, among those that a cache keeps or
// in a recording. It finds the winner's kernel in the operator as it is today.
//
// A Request says which winner is meant. InCache, Shipped and Recorded answer with a
// Chosen. Where a cache has other winners only, the error is a *NoneError.
package winners

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
	"autotune/tuner/trial"
)

// Request is what a user asks for: the winner of a problem.
type Request struct {
	Operator *operator.Operator
	operator.Request
	Conditions device.Conditions // of its time, in a cache
	Objective  tuner.Objective   // that it is the best by, in a cache
	Device     string            // its kind or part of its name; "" and "auto": any, a GPU's first
	Trials     bool              // with all trials of the problem
	Tool       string            // the program that asks, for what it writes
}

// Chosen is the winner that answers a request.
type Chosen struct {
	cudasource.Winner
	Kept    Kept          // as the cache has it; empty: it is of a recording
	Trials  []trial.Trial // of the problem, where they are asked for
	Notices []string      // what a user may not expect of the answer
}

// NoneError says that there is no such winner, and what there is instead.
type NoneError struct{ Message string }

func (e *NoneError) Error() string { return e.Message }

// Check refuses a request that is wrong on every device.
func (r Request) Check() error {
	_, err := r.Operator.Bind(r.Request, operator.TypicalLimits())
	return err
}

func (r Request) String() string {
	p, err := r.Operator.Bind(r.Request, operator.TypicalLimits())
	if err != nil {
		return r.Operator.Name
	}
	return p.String()
}

// names tells whether a problem is the one asked for. What the math mode auto means is
// up to the device that the problem was solved on, or to the PyTorch that was there.
func (r Request) names(p operator.ProblemRecord, d device.Info) bool {
	if operator.AutoMath(r.Math) && p.MathBy != "" {
		r.Math = p.Math
	}
	bound, err := r.Operator.Bind(r.Request, LimitsOf(d))
	return err == nil && bound.String() == p.Text
}

// Means tells whether the request is for winners of a device. A GPU's number, which may
// follow the kind, is kept of none.
func (r Request) Means(d device.Info) bool {
	kind, _, _ := strings.Cut(r.Device, ":")
	return cmp.Or(r.Device, "auto") == "auto" || kind == string(d.Kind) ||
		strings.Contains(strings.ToLower(d.Name), strings.ToLower(r.Device))
}

// LimitsOf are a device's limits; caches of early versions have none.
func LimitsOf(d device.Info) operator.Limits {
	if d.Limits.Arch == 0 {
		return operator.TypicalLimits()
	}
	return d.Limits
}

// Shipped takes the fastest variant of the recording in this binary that is of exactly
// the problem. The error is recording.ErrNotFound where there is none.
func (r Request) Shipped(ctx context.Context) (Chosen, error) {
	entry, p, err := recording.FindRequestOn(recording.Shipped(), r.Operator, r.Request, r.Means)
	if err != nil {
		return Chosen{}, err
	}
	recorded, err := recording.LoadFS(recording.Shipped(), entry.Name)
	if err != nil {
		return Chosen{}, err
	}
	return r.fastest(ctx, recorded, p)
}

// Recorded takes the fastest variant of a recording of the problem.
func (r Request) Recorded(ctx context.Context, recorded *recording.Recording) (Chosen, error) {
	m := recorded.Metadata
	p, err := r.Operator.Bind(r.Request, m.Device.Limits)
	if err != nil {
		return Chosen{}, err
	}
	if p.String() != m.Problem.Text {
		return Chosen{}, fmt.Errorf("%s holds %s, not %s", recorded.File, m.Problem.Text, p)
	}
	return r.fastest(ctx, recorded, p)
}

func (r Request) fastest(ctx context.Context, recorded *recording.Recording, p *operator.Problem) (w Chosen, err error) {
	best, trials, err := reports.FromRecording(recorded, p)
	if err != nil {
		return w, err
	}
	if w.Winner, err = cudasource.Of(best, p.Operator, p.Limits, r.Tool); err != nil {
		return w, fmt.Errorf("%s: %w", recorded.File, err)
	}
	return w, w.take(ctx, r, p, trials)
}

// take adds the trials whose kernels are what they were, if they are asked for.
func (w *Chosen) take(ctx context.Context, r Request, p *operator.Problem, trials []trial.Trial) (err error) {
	if !r.Trials {
		return nil
	}
	w.Trials, err = Current(ctx, p, trials)
	if gone := len(trials) - len(w.Trials); err == nil && gone > 0 {
		w.Notices = append(w.Notices, fmt.Sprintf("left out %s of kernels that were edited since, or are not valid any more", output.Count(gone, "trial")))
	}
	return err
}
