// Package final makes sure of a search's winner.
//
// The fastest of hundreds of noisy medians is partly the luckiest. A variant that is right on the inputs of the search
// may be wrong on others. Settle is given a Field of trials and a Case: the problem, the device, and a way to compile.
// It then goes on until nothing changes any more:
//
//   - The finals time all variants again whose interval reaches the leader's (finals.go).
//   - Of those that still tie, Field.Decide chooses one by what noise does not touch.
//   - The gates try the winner on more launches, inputs and shapes (gates.go). A variant
//     that fails there has failed, and the next one is the winner.
//   - Of several devices, a second one verifies and times the winner (place.go).
//
// The package sees variants and times. It knows no strategy, no space and no store.
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

// Reserve is the part of a search's time limit that is kept for the finals and the gates.
func Reserve(limit time.Duration) time.Duration {
	return min(limit/4, max(policy.leastFinals+policy.leastGates, limit/policy.finalsShare+limit/policy.gatesShare))
}

// Gating says which variants go through the gates.
type Gating string

// What may go through the gates.
const (
	GateWinner Gating = ""      // the winner, and who comes after it if it fails
	GateAll    Gating = "all"   // every variant that is right on the search's inputs
	GateRaces  Gating = "races" // likewise, for data races alone
	GateNone   Gating = "none"  // none
)

// Subject is the problem whose variants are judged, and what they are judged by.
type Subject struct {
	Problem  *operator.Problem
	Device   device.Device
	Protocol device.Protocol
	Ceilings device.Ceilings
	Launches int // of the gate that repeats a launch
}

// Timed tells whether times under the protocol are good enough to be compared.
func Timed(p device.Protocol) bool { return p.Samples > 1 }

// Case is all that the judge needs beside the field.
type Case struct {
	Subject
	Gating  Gating
	Seed    uint64        // of the order in which finalists are timed
	Started time.Time     // when the search did
	Limit   time.Duration // of the search; 0: none

	Session  device.Session           // the search's own, open on the problem
	Variants map[int64]device.Variant // compiled already, by configuration
	// Compilers is how many calls of Compile may run side by side. Compile makes the variant of a configuration; a
	// refused one has no binary, and its outcome says why.
	Compilers int
	Compile   func(ctx context.Context, id int64) (device.Variant, trial.Outcome, error)

	// Nearby has what was begun by Ahead, by configuration.
	Nearby map[int64]*Nearby
	// Amended is told of each trial that changed.
	Amended func(trial.Trial)
	// Gate is called before a variant goes through the gates.
	Gate func()
}

// Verdict is what the judge says of the winner, which Field.Decide names.
type Verdict struct {
	Gates        *Gates        // that it passed; nil: it went through none
	Confirmation *Confirmation // a second worker's; nil: there is none
}

// judge is one Settle.
type judge struct {
	Case
	field     *Field
	place     *place           // where all of it is
	rounds    map[int64]int    // played in this place, by configuration
	passed    map[int64]*Gates // what configurations were put through
	confirmed map[int64]bool   // those that a second worker was asked about
	random    *rand.Rand
	began     time.Time
	limit     time.Duration // of the finals
	compiling []*Nearby     // begun here
	verdict   Verdict
}

// Settle runs the finals and the gates. It amends the field's trials such that its Decide names the winner.
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
		for _, n := range j.compiling { // a gate may not have waited for it
			<-n.compiled
		}
	}()
	if j.Nearby == nil {
		j.Nearby = map[int64]*Nearby{}
	}
	for {
		err := j.settle(ctx)
		// What was timed on a worker that is gone is timed anew on another.
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
			j.nearby(ctx, j.field.ids[i], j.field.Trials[i].Configuration) // while the finals are timed
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

// gate puts a configuration through the gates. If it fails at one, its trial gets the status of that failure, and a
// message that names the gate.
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
	g := &gatekeeper{Subject: j.Subject, place: j.place, variant: v, nearby: j.nearby(ctx, id, v.Configuration), began: time.Now(), limit: limit}
	if j.Gating == GateRaces {
		err = g.races(ctx)
	} else {
		err = g.pass(ctx)
	}
	var refused *refusal
	if errors.As(err, &refused) {
		j.change(id, func(t *trial.Trial) { t.Fail(refused.status, refused.Error()) })
		return nil
	}
	if err == nil {
		j.passed[id] = &g.tried
	}
	return err
}

// nearby is what a configuration needs at the gate of neighbours.
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
