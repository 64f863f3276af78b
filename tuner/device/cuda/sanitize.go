package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autotune/internal/input"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// A launch that is watched takes many times as long as else. One that did not end
// by itself is not waited for as long.
const (
	watchedFactor = 30
	endlessFactor = 3
	watchedSlack  = 2 * time.Minute // to start, to fill the inputs, to end
)

// sanitized is a GPU whose variants are also run under compute-sanitizer, each of
// its tools in a process of its own: a report is complete when that has ended.
type sanitized struct {
	*remote.Child
	program string
}

func (g *sanitized) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	s, err := g.Child.Open(ctx, p, reference, proto)
	if err != nil {
		return nil, err
	}
	return &sanitizedSession{s.(*remote.ChildSession), g.program}, nil
}

// sanitizedSession evaluates variants plainly and then under the tools.
type sanitizedSession struct {
	*remote.ChildSession
	program string
}

// Evaluate evaluates a variant; what a tool finds takes the place of how it ended.
func (s *sanitizedSession) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	o, err := s.ChildSession.Evaluate(ctx, v, best)
	if err != nil {
		return o, err
	}
	limit := s.Protocol().LaunchTimeout
	switch o.Status {
	case trial.OK, trial.WrongResult, trial.Crashed:
		limit *= watchedFactor
	case trial.Timeout:
		limit *= endlessFactor
	default:
		return o, nil // it never ran
	}
	for _, tool := range sanitizerTools {
		seen, err := s.watch(ctx, tool, v, limit)
		if err != nil {
			return o, err
		}
		// How it ends under a tool says less than how it ended without.
		if seen.found || o.Status == trial.OK && seen.status != trial.OK {
			o.Fail(seen.status, tool.name+": "+seen.message)
			return o, nil
		}
	}
	return o, nil
}

// watched is what came of a run under a tool.
type watched struct {
	status  trial.Status
	message string
	found   bool // the tool found something
}

// watch runs a variant under a tool. An error means that the tool cannot work.
func (s *sanitizedSession) watch(ctx context.Context, tool sanitizerTool, v device.Variant, limit time.Duration) (watched, error) {
	dir, err := os.MkdirTemp("", "autotune-sanitizer-")
	if err != nil {
		return watched{}, fmt.Errorf("compute-sanitizer needs a folder for its report: %w", err)
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, tool.name+".log")
	o, err := s.LaunchUnder(ctx, tool.command(s.program, log), v, limit, limit+watchedSlack)
	if ctx.Err() != nil {
		return watched{}, ctx.Err()
	}
	r, readErr := reportIn(ctx, log)
	switch {
	case len(r.findings) > 0:
		return watched{tool.status, r.findings[0], true}, nil
	case errors.Is(err, context.DeadlineExceeded):
		return watched{status: trial.Timeout, message: fmt.Sprintf("no end within %v", limit)}, nil
	case err == nil && o.Status != trial.OK:
		return watched{status: o.Status, message: o.Message}, nil
	case err != nil || !r.complete:
		return watched{}, fmt.Errorf("%s gave no verdict: %w", tool.name, cmp.Or(err, said(r), readErr, errors.New("its report has no end")))
	}
	return watched{status: trial.OK}, nil
}

// said is what a report without an end begins with.
func said(r sanitizerReport) error {
	if r.complete || r.trouble == "" {
		return nil
	}
	return errors.New(r.trouble)
}

// reportBound bounds a report; a tool reports a hundred findings at most.
var reportBound = input.Bound{Kind: "a report of compute-sanitizer", Bytes: 16 << 20}

func reportIn(ctx context.Context, log string) (sanitizerReport, error) {
	text, err := input.File(ctx, log, reportBound.Read)
	if err != nil {
		return sanitizerReport{}, err
	}
	return readReport(string(text)), nil
}
