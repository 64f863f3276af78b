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

// Launches is how many the first gate repeats, unless asked otherwise.
const Launches = 100

// Gates say what a winner was put through beyond the search: what it passed, and what there was no time for.
type Gates struct {
	Launches   int      `json:"launches"`             // compared with the reference, each on other outputs
	Exact      bool     `json:"exact"`                // and bit for bit with the first
	Changed    bool     `json:"changed,omitempty"`    // right after few of the inputs changed under a loaded kernel
	Inputs     int      `json:"inputs"`               // pairs of distribution and seed
	Neighbours []string `json:"neighbours,omitempty"` // ragged problems that its template serves
	Alone      bool     `json:"alone,omitempty"`      // its template serves none near it
	LeftOut    []string `json:"left_out,omitempty"`   // for want of time or memory
	Races      string   `json:"races,omitempty"`      // what data races were looked for, where the device can
	Seconds    float64  `json:"seconds"`
}

// String says what was tried, as in "100 launches bit for bit, 12 inputs, 3 neighbours, in 0.4 s".
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

// Warning says why no neighbour was tried; "" if one was.
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

// refusal is how a variant failed at a gate.
type refusal struct {
	gate    string
	status  trial.Status
	message string
}

func (r *refusal) Error() string { return "gate " + r.gate + ": " + r.message }

type gatekeeper struct {
	Subject
	place   *place
	variant device.Variant
	nearby  *Nearby
	tried   Gates
	began   time.Time
	limit   time.Duration
	cost    time.Duration // of the last other inputs
}

// pass puts the variant through the gates, one after another. A *refusal says at which gate it failed. The inputs are
// afterwards what they were.
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
		return failure // the next variant would be compared with the wrong answer
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
	var o trial.Outcome
	err = g.place.do(ctx, g.variant, func() (err error) {
		o, launches, err = g.place.session.Check(ctx, g.variant, c)
		return err
	})
	if err != nil {
		return launches, err
	}
	return launches, refuse(gate, o)
}

// refuse is a refusal unless the outcome is right.
func refuse(gate string, o trial.Outcome) error {
	if o.Status == trial.OK {
		return nil
	}
	return &refusal{gate, o.Status, o.Message}
}

func (g *gatekeeper) refill(ctx context.Context, in device.Inputs) error {
	if g.place.inputs == in {
		return nil
	}
	err := g.place.do(ctx, g.variant, func() error { return g.place.session.Refill(ctx, in) })
	if err == nil {
		g.place.inputs = in
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

// changedInputs is the gate of changed, by its name.
const changedInputs = "changed inputs"

// changed launches a loaded kernel on the inputs of the search, and again after few of them changed: it must not take
// what it computed for the first.
func (g *gatekeeper) changed(ctx context.Context) error {
	if 2*trial.DurationOf(g.Ceilings.ReferenceMS) > g.left()-g.limit/policy.forNeighbours { // for the answers to both inputs
		g.leaveOut("%s", changedInputs)
		return nil
	}
	_, err := g.check(ctx, changedInputs, device.Check{Changes: true})
	g.tried.Changed = err == nil
	return err
}

// races looks for data races on the inputs of the search. The other gates have as much time as without it.
func (g *gatekeeper) races(ctx context.Context) error {
	finder, can := g.place.session.(device.RaceFinder)
	if !can {
		return nil
	}
	start := time.Now()
	defer func() { g.limit += time.Since(start) }()
	var o trial.Outcome
	err := g.place.do(ctx, g.variant, func() (err error) {
		o, g.tried.Races, err = finder.Races(ctx, g.variant)
		return err
	})
	if err != nil {
		return err
	}
	return refuse("races", o)
}

// inputs tries every distribution with several seeds, and the extremes with one. The launches were on the first of
// both.
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
				at.message += "; special inputs hold NaN and infinities, and the key `inputs:` of op.yaml can leave them out"
			}
			return err
		}
		g.tried.Inputs++
		cost = time.Since(start)
		g.cost = cost
	}
	return nil
}
