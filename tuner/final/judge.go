// Package final chooses a search's winner: it times the fastest variants again and checks the winner.
//
// The fastest of hundreds of noisy medians is partly a matter of luck, and a variant that is correct for the inputs of
// the search may be wrong for others. Settle takes a Field of trials and a Case: the problem, the device and a function
// that compiles. Settle repeats these steps until the winner no longer changes:
//
//   - The finals time all variants again whose interval overlaps the leader's (finals.go).
//   - Among variants that still tie, Field.Decide chooses by properties without noise.
//   - The gates try the winner on more launches, inputs and shapes (gates.go). A variant
//     that fails at a gate counts as failed, and the next variant is the winner.
//   - If there are several devices, a second one verifies and times the winner (place.go).
//
// Package final works with variants and times, and knows neither strategies nor stores.
package final

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// Reserve returns the part of a search's time limit that is reserved for the finals and the gates.
func Reserve(limit time.Duration) time.Duration {
	return min(limit/4, max(policy.leastFinals+policy.leastGates, limit/policy.finalsShare+limit/policy.gatesShare))
}

// Gating says which variants go through the gates.
type Gating string

// The following values of Gating choose which variants go through the gates.
const (
	GateWinner Gating = ""      // only the winner; if it fails, the next winner
	GateAll    Gating = "all"   // every variant that is correct for the search's inputs
	GateRaces  Gating = "races" // every correct variant, but only the gate of data races
	GateNone   Gating = "none"  // no variant
)

// Subject is a problem with the device and the protocol by which its variants are verified and timed.
type Subject struct {
	Problem  *operator.Problem
	Device   device.Device
	Protocol device.Protocol
	Ceilings device.Ceilings
	Launches int // number of launches that the first gate repeats
}

// Timed reports whether the protocol takes several samples of each time, so that times can be compared.
func Timed(p device.Protocol) bool { return p.Samples > 1 }

// Case holds everything that Settle needs besides the trials.
type Case struct {
	Subject
	Gating  Gating
	Seed    uint64        // seed for the order in which finalists are timed
	Started time.Time     // start of the search
	Limit   time.Duration // time limit of the search; 0: none

	Session  device.Session           // session of the search, open on the problem
	Variants map[int64]device.Variant // variants that are compiled already, by configuration
	// Compilers is how many calls of Compile may run in parallel. Compile compiles the variant of a configuration. A
	// variant that the compiler refuses has no binary, and its outcome says why.
	Compilers int
	Compile   func(ctx context.Context, id int64) (device.Variant, trial.Outcome, error)

	// Nearby maps configurations to their neighbouring problems, for which Ahead has begun to compile.
	Nearby map[int64]*Nearby
	// Amended is called with each trial that Settle changes.
	Amended func(trial.Trial)
	// The function Gate is called each time before the gates check a variant.
	Gate func()
}

// Verdict holds the checks that the winner passed; Field.Decide returns the winner itself.
type Verdict struct {
	Gates        *Gates        // the gates that it passed; nil: it went through none
	Confirmation *Confirmation // result of a second worker; nil: none
}

// judge is the state of one call of Settle.
type judge struct {
	Case
	field     *Field
	place     *place           // the worker or device of the finals and gates
	rounds    map[int64]int    // rounds played in this place, by configuration
	passed    map[int64]*Gates // gates that each configuration passed
	confirmed map[int64]bool   // configurations tried on a second worker
	random    *rand.Rand
	began     time.Time
	limit     time.Duration // time limit of the finals
	compiling []*Nearby     // compilations that the judge has begun
	verdict   Verdict
}

// Settle times the best variants again (the finals), and checks the winner with more launches, inputs and shapes (the
// gates). After Settle has amended the field's trials, Field.Decide returns the winner.
func Settle(ctx context.Context, f *Field, c Case) (Verdict, error) {
	j := &judge{
		Case: c, field: f, passed: map[int64]*Gates{}, confirmed: map[int64]bool{},
		random: rand.New(rand.NewPCG(c.Seed, 0)), began: time.Now(),
		limit: max(policy.leastFinals, time.Since(c.Started)/policy.finalsShare),
	}
	if c.Limit > 0 {
		j.limit = min(j.limit, Reserve(c.Limit)/4)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, n := range j.compiling { // a gate may have ended without waiting for it
			<-n.compiled
		}
	}()
	if j.Nearby == nil {
		j.Nearby = map[int64]*Nearby{}
	}
	for {
		err := j.settle(ctx)
		// The times of a worker that has gone away cannot be compared with times of another worker, so all rounds of
		// the finals are repeated.
		if _, several := c.Device.(device.Pool); !several || !errors.Is(err, device.ErrGone) || errors.Is(err, errNobody) {
			return j.verdict, err
		}
	}
}

func (j *judge) settle(ctx context.Context) (err error) {
	if j.place, err = j.takePlace(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.place.close()) }()
	j.rounds = map[int64]int{}
	if j.Gating == GateAll || j.Gating == GateRaces {
		return j.gateAll(ctx)
	}
	if _, ok := j.field.Leader(); ok && j.Gating == GateWinner {
		for _, i := range j.field.reaching()[:min(len(j.field.reaching()), policy.ahead)] {
			j.nearby(ctx, j.field.ids[i], j.field.Trials[i].Configuration) // compiled while the finals run
		}
	}
	for {
		if err := j.play(ctx); err != nil {
			return err
		}
		id, ok := j.decided()
		if !ok {
			return nil
		}
		j.verdict.Gates = j.passed[id]
		switch {
		case j.Gating == GateWinner && j.passed[id] == nil:
			err = j.gate(ctx, id)
		case !j.confirmed[id]:
			err = j.confirm(ctx, id)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (j *judge) decided() (int64, bool) {
	ties := j.field.decide()
	if len(ties) == 0 {
		return 0, false
	}
	return j.field.ids[ties[0]], true
}

func (j *judge) change(id int64, change func(*trial.Trial)) {
	j.Amended(j.field.amend(id, change))
}

// gate puts a configuration through the gates, unless it has passed them already. If the configuration fails at a gate,
// its trial gets the status of the failure and a message that names the gate.
func (j *judge) gate(ctx context.Context, id int64) error {
	v, ok, err := j.variant(ctx, id)
	if err != nil || !ok {
		return err
	}
	j.Gate()
	limit := max(policy.leastGates, time.Since(j.Started)/policy.gatesShare)
	if j.Gating == GateAll {
		limit = policy.patientGates
	} else if j.Limit > 0 {
		limit = min(limit, Reserve(j.Limit)*3/4)
	}
	g := &gatekeeper{Subject: j.Subject, place: j.place, variant: v, nearby: j.nearby(ctx, id, v.Configuration), limit: limit}
	passed, o, err := g.gates(ctx, j.Gating)
	switch {
	case err != nil:
		return err
	case passed == nil:
		j.change(id, func(t *trial.Trial) { t.Fail(o.Status, o.Message) })
	default:
		j.passed[id] = passed
	}
	return nil
}

// nearby returns the neighbours of a configuration, and starts compiling for them if that has not begun.
func (j *judge) nearby(ctx context.Context, id int64, c space.Configuration) *Nearby {
	if j.Nearby[id] == nil {
		j.Nearby[id] = Ahead(ctx, j.Subject, c)
		j.compiling = append(j.compiling, j.Nearby[id])
	}
	return j.Nearby[id]
}

func (j *judge) gateAll(ctx context.Context) error {
	for i, t := range j.field.Trials {
		if t.Status != trial.OK {
			continue
		}
		if err := j.gate(ctx, j.field.ids[i]); err != nil {
			return err
		}
	}
	if id, ok := j.decided(); ok {
		j.verdict.Gates = j.passed[id]
	}
	return nil
}
