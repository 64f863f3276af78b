package final

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/output"
)

// Launches is the usual number of launches in the first gate, which compares the outputs of repeated launches.
const Launches = 100

// Gates lists the checks that a winner passed after the search, and the checks that were left out.
type Gates struct {
	Launches   int      `json:"launches"`             // launches compared with the reference, each into other outputs
	Exact      bool     `json:"exact"`                // launches were equal bit for bit, too
	Changed    bool     `json:"changed,omitempty"`    // correct after some inputs changed under a loaded kernel
	Inputs     int      `json:"inputs"`               // number of pairs of distribution and seed
	Neighbours []string `json:"neighbours,omitempty"` // ragged problems that its template serves
	Alone      bool     `json:"alone,omitempty"`      // its template serves no problem near it
	LeftOut    []string `json:"left_out,omitempty"`   // checks left out for lack of time or memory
	Races      string   `json:"races,omitempty"`      // what the device's search for data races looked at
	Seconds    float64  `json:"seconds"`
}

// String lists the checks, as in "100 launches bit for bit, 12 inputs, 3 neighbours, in 0.4 s".
func (g *Gates) String() string {
	parts := []string{output.Count(g.Launches, "launch")}
	if g.Exact {
		parts[0] += " bit for bit"
	}
	neighbours := output.Count(len(g.Neighbours), "neighbour")
	if g.Alone {
		neighbours = "no neighbour, since the configuration serves none"
	}
	parts = append(parts, output.Count(g.Inputs, "input"), neighbours, fmt.Sprintf("in %.1f s", g.Seconds))
	text := strings.Join(parts, ", ")
	if g.Races != "" {
		text += "; " + g.Races
	}
	if len(g.LeftOut) > 0 {
		text += "; left out for want of time: " + strings.Join(g.LeftOut, ", ")
	}
	return text
}

// Warning says why the winner was tried on no neighbouring shape, or is "" if it was tried on some.
func (g *Gates) Warning() string {
	const alone = "the winner was tried on this shape alone: "
	switch {
	case g == nil || len(g.Neighbours) > 0:
		return ""
	case g.Alone:
		return alone + "its template serves no shape near it with this configuration; a guard that is missing would not show"
	}
	return alone + "time or memory was short for others; `autotune verify --gates` gives each variant a minute"
}

// refusal is the error of a variant that failed at a gate or in the compiler.
type refusal struct{ trial.Outcome }

func (r *refusal) Error() string { return r.Message }

// refused returns the outcome in an error of type *refusal, and passes any other error on.
func refused(err error) (o trial.Outcome, _ error) {
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r.Outcome, nil
	}
	return trial.Outcome{Status: trial.OK}, err
}

// refuse returns a *refusal that names the gate if the variant's outcome at that gate is not correct, otherwise nil.
func refuse(gate string, o trial.Outcome) error {
	if o.Status == trial.OK {
		return nil
	}
	o.Message = "gate " + gate + ": " + o.Message
	return &refusal{o}
}

type gatekeeper struct {
	Subject
	place   *place
	variant device.Variant
	nearby  *Nearby
	tried   Gates
	began   time.Time
	limit   time.Duration
	cost    time.Duration // time of the last refill and check of other inputs
}

// gates runs the gates on a variant, and returns those that it passed within the time limit. If the variant failed at a
// gate, the outcome's message names that gate.
func (g *gatekeeper) gates(ctx context.Context, only Gating) (*Gates, trial.Outcome, error) {
	work := g.pass
	if g.began = time.Now(); only == GateRaces {
		work = g.races
	}
	o, err := refused(work(ctx))
	if err != nil || o.Status != trial.OK {
		return nil, o, evaluating(g.variant, err)
	}
	return &g.tried, o, nil
}

// pass puts the variant through all gates in order, and afterwards restores the inputs of the session.
func (g *gatekeeper) pass(ctx context.Context) error {
	defer func() { g.tried.Seconds = time.Since(g.began).Seconds() }()
	if err := g.launches(ctx); err != nil {
		return err
	}
	if err := g.changed(ctx); err != nil {
		return err
	}
	if err := g.races(ctx); err != nil {
		return err
	}
	err := g.inputs(ctx)
	if failure := g.refill(ctx, g.Protocol.Inputs()); failure != nil {
		return failure // the session's inputs are unknown now
	}
	if err != nil {
		return err
	}
	return g.neighbours(ctx)
}

func (g *gatekeeper) left() time.Duration { return g.limit - time.Since(g.began) }

func (g *gatekeeper) leaveOut(format string, values ...any) {
	g.tried.LeftOut = append(g.tried.LeftOut, fmt.Sprintf(format, values...))
}

func (g *gatekeeper) check(ctx context.Context, gate string, c device.Check) (launches int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	o, launches, err := g.place.session.Check(ctx, g.variant, c)
	if err == nil {
		err = refuse(gate, o)
	}
	return launches, err
}

func (g *gatekeeper) refill(ctx context.Context, in device.Inputs) (err error) {
	if g.place.inputs != in {
		if err = g.place.session.Refill(ctx, in); err == nil {
			g.place.inputs = in
		}
	}
	return err
}

func (g *gatekeeper) launches(ctx context.Context) (err error) {
	exact := g.Problem.Operator.Deterministic
	g.tried.Exact = exact
	g.tried.Launches, err = g.check(ctx, "launches", device.Check{Launches: g.Launches, Exact: exact, Limit: g.limit / 2})
	if err == nil && g.tried.Launches < g.Launches {
		g.leaveOut("%d of %d launches", g.Launches-g.tried.Launches, g.Launches)
	}
	return err
}

// changedInputs is the name of the gate that launches a kernel again after its inputs have changed.
const changedInputs = "changed inputs"

// changed is the gate that launches a loaded kernel on the search's inputs, changes some of the inputs, and launches
// the kernel again. To pass the gate `changed`, a kernel must compute its output anew, and not reuse values that it
// computed from the first inputs.
func (g *gatekeeper) changed(ctx context.Context) error {
	if 2*trial.DurationOf(g.Ceilings.ReferenceMS) > g.left()-g.limit/policy.forNeighbours { // the answers for both inputs take that long
		g.leaveOut("%s", changedInputs)
		return nil
	}
	_, err := g.check(ctx, changedInputs, device.Check{Changes: true})
	g.tried.Changed = err == nil
	return err
}

// races checks the kernel for data races on the inputs of the search. The time limit of the gates does not include the
// time that the gate of data races takes.
func (g *gatekeeper) races(ctx context.Context) error {
	finder, can := g.place.session.(device.RaceFinder)
	if !can {
		return nil
	}
	start := time.Now()
	defer func() { g.limit += time.Since(start) }()
	o, looked, err := finder.Races(ctx, g.variant)
	if g.tried.Races = looked; err != nil {
		return err
	}
	return refuse("races", o)
}

// inputs tries every distribution with several seeds, and the extreme distributions with one seed. inputs does not try
// the inputs of the search, since an earlier gate has used them already.
func (g *gatekeeper) inputs(ctx context.Context) error {
	var all []device.Inputs
	for seed := range uint32(policy.seeds) {
		for _, distribution := range g.Problem.Operator.Inputs {
			all = append(all, device.Inputs{Distribution: distribution, Seed: g.Protocol.Seed + seed*policy.seedStep})
		}
		if seed > 0 {
			continue
		}
		for _, extreme := range g.Problem.Operator.Extremes() {
			all = append(all, device.Inputs{Distribution: extreme, Seed: g.Protocol.Seed})
		}
	}
	searched := g.Protocol.Inputs()
	all = slices.DeleteFunc(all, func(in device.Inputs) bool { return in == searched })
	g.tried.Inputs = 1
	cost := trial.DurationOf(g.Ceilings.ReferenceMS)
	for i, in := range all {
		if cost > g.left()-g.limit/policy.forNeighbours {
			g.leaveOut("%d of %d inputs", len(all)-i, len(all)+1)
			return nil
		}
		start := time.Now()
		if err := g.refill(ctx, in); err != nil {
			return err
		}
		if _, err := g.check(ctx, fmt.Sprintf("inputs %s, seed %d", in.Distribution, in.Seed), device.Check{}); err != nil {
			if at := (*refusal)(nil); errors.As(err, &at) && in.Distribution == "special" {
				at.Message += "; special inputs hold NaN and infinities, and the key `inputs:` of op.yaml can leave them out"
			}
			return err
		}
		g.tried.Inputs++
		cost = time.Since(start)
		g.cost = cost
	}
	return nil
}
