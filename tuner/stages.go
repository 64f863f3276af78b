package tuner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/space"
	"autotune/tuner/final"
)

// job is a configuration on its way through the stages. Each adds what it found out. An
// err means that the stage itself cannot go on.
type job struct {
	id      int64
	turn    int // jobs keep the order in which they were begun
	variant device.Variant
	trial   trial.Trial
	best    float64 // fastest median when the device was given it, for racing
	outcome trial.Outcome
	err     error
}

type opening struct {
	session device.Session
	took    time.Duration
	err     error
}

// stages are the goroutines beside the search's loop: compilers and the device. No channel
// ever blocks one of them: each has room for all that can be on the way to the loop.
type stages struct {
	subject *final.Subject // the problem and the device
	space   *space.Space
	pool    device.Pool // the device, if it is several; nil: it is one
	can     device.Properties
	pace    pace

	toCompile chan job
	compiled  chan job
	toDevice  chan job
	servers   chan int // how many more goroutines are to take from toDevice
	opened    chan opening
	evaluated chan job

	// What only the loop touches.
	session   device.Session // once the device is open
	open      bool           // it is, or failed to be
	dropped   bool           // what is under way is not waited for, but for the device's job
	compilers int            // goroutines that take from toCompile
	serving   int            // that take from toDevice, or were asked to
	compiling int            // configurations with the compilers
	ready     []job          // compiled, waiting for the device
	chosen    int            // of those, what it gets next
	onDevice  int            // with the device, or next in its turn
	begun     map[int64]bool // configurations under way

	underway     context.Context // of everything; compilations are a part of it
	compilations context.Context
	drop         context.CancelFunc // ends the compilations
	cancel       context.CancelFunc // ends everything under way
	group        sync.WaitGroup
}

func (st *stages) start(ctx context.Context) {
	ctx, st.cancel = context.WithCancel(ctx)
	st.underway = ctx
	compilations, share := st.workers(), policy.deviceShare
	if st.pool != nil { // its workers come and go
		compilations, share = policy.compilations, policy.deviceShare*device.MostWorkers
	}
	st.toCompile, st.compiled = make(chan job, compilations), make(chan job, compilations)
	st.toDevice, st.servers = make(chan job, policy.deviceShare-1), make(chan int, share)
	st.evaluated, st.opened = make(chan job, share), make(chan opening, 1)
	st.group.Go(func() { st.serve(ctx) })
	st.compilations, st.drop = context.WithCancel(ctx)
}

func (st *stages) workers() int {
	if !st.can.Compiles {
		return 1
	}
	return min(max(1, st.subject.Device.Compiler().Workers()), policy.compilations)
}

func (st *stages) devices() int {
	if st.pool == nil {
		return 1
	}
	return min(max(1, len(st.pool.Workers())), device.MostWorkers)
}

func (st *stages) share() int { return policy.deviceShare * st.devices() }

// lookahead is how many configurations may be under way: enough that the devices never wait for a compiler. When
// nothing is compiled it is one, which makes a replayed search repeatable to the last trial.
func (st *stages) lookahead(spent Spent) int {
	if !st.can.Compiles {
		return 1
	}
	most := 2*st.workers() + st.share() - 1
	if st.pool == nil {
		return most
	}
	return min(most, st.share()+st.devices()*(1+spent.compilationsAnEvaluation()))
}

func (st *stages) cancelled() bool { return st.underway.Err() != nil }

func (st *stages) room(spent Spent) bool {
	return st.compiling < st.workers() && st.underWay() < st.lookahead(spent)
}

// underWay is how many configurations were begun and have no trial yet, without those that are not waited for.
func (st *stages) underWay() int {
	if st.dropped && st.pool != nil && len(st.pool.Workers()) == 0 {
		return 0 // nobody is there to finish them
	}
	if st.dropped {
		return st.onDevice
	}
	return st.compiling + len(st.ready) + st.onDevice
}

func (st *stages) begin(id int64, turn int) {
	st.compiling++
	st.begun[id] = true
	st.toCompile <- job{id: id, turn: turn}
}

// await has a compiled job wait for the device. Jobs wait in the order in which they were begun,
// not in that in which they were compiled.
func (st *stages) await(j job) {
	at, _ := slices.BinarySearchFunc(st.ready, j, func(a, b job) int { return cmp.Compare(a.turn, b.turn) })
	st.ready = slices.Insert(st.ready, at, j)
}

func (st *stages) leaveOut(unwanted func(id int64) bool) {
	st.ready = slices.DeleteFunc(st.ready, func(j job) bool {
		if !unwanted(j.id) {
			return false
		}
		delete(st.begun, j.id)
		return true
	})
}

// next is the job that the device gets next, and the channel to it. It is the first that need not wait for
// others; the channel is nil while there is none, the device is not open, or it has its share.
func (st *stages) next(waits func(id int64) bool) (chan<- job, job) {
	if !st.open || st.onDevice >= st.share() {
		return nil, job{}
	}
	st.chosen = slices.IndexFunc(st.ready, func(j job) bool { return !waits(j.id) })
	if st.chosen < 0 {
		return nil, job{}
	}
	return st.toDevice, st.ready[st.chosen]
}

func (st *stages) sent() {
	st.ready, st.onDevice = slices.Delete(st.ready, st.chosen, st.chosen+1), st.onDevice+1
}

// dropAll gives up what is under way. What the device is at may finish.
func (st *stages) dropAll() {
	st.dropped, st.ready = true, nil
	st.drop()
	select {
	case <-st.toDevice:
		st.onDevice--
	default:
	}
}

// close ends the stages; what the device finished by then is left in evaluated.
func (st *stages) close() {
	st.cancel()
	close(st.toCompile)
	close(st.toDevice)
	close(st.servers)
	st.group.Wait()
	close(st.evaluated)
}

// staff starts goroutines at the stages until there are as many as there is work for. New workers
// of a pool get goroutines, too.
func (st *stages) staff() {
	for ; st.compilers < st.workers(); st.compilers++ {
		st.group.Go(func() {
			for j := range st.toCompile {
				st.compiled <- st.prepare(st.compilations, j)
			}
		})
	}
	want := 1
	if st.pool != nil { // the job that a worker takes next waits with it, not here
		want = st.share()
	}
	if want > st.serving {
		st.servers <- want - st.serving
		st.serving = want
	}
}

// prepare turns a configuration into a variant. One that the compiler refuses comes back with that status.
func (st *stages) prepare(ctx context.Context, j job) job {
	p, c := st.subject.Problem, st.space.At(j.id)
	k, err := p.Kernel(c)
	if err != nil {
		j.err = fmt.Errorf("prepare %s: %w", c, err)
		return j
	}
	j.trial, j.variant = trial.New(c, k), device.Variant{Configuration: c, Kernel: k}
	if !st.can.Compiles {
		return j
	}
	start := time.Now()
	binary, err := st.subject.Device.Compiler().Compile(ctx, compile.Request{
		Kernel: k, Arch: st.subject.Device.Arch(), Timeout: st.subject.Protocol.CompileTimeout, Problem: p, Configuration: c,
	})
	j.trial.Phases.CompileMS = trial.MS(time.Since(start))
	var refused *compile.Error
	var reference *device.ReferenceError // from a worker that opened the problem for this kernel
	switch {
	case err == nil:
		j.variant.Binary, j.trial.Log = binary, binary.Log
	case ctx.Err() != nil:
		j.err = ctx.Err()
	case errors.As(err, &refused):
		j.trial.Status, j.trial.Message, j.trial.Log = trial.CompileError, refused.Text(), refused.Log
	case errors.As(err, &reference):
		j.err = err
	default:
		j.err = fmt.Errorf("compile %s: %w", k.File, err)
	}
	return j
}

// serve opens the device's session, in which each of the goroutines that staff asks for
// evaluates one variant at a time.
func (st *stages) serve(ctx context.Context) {
	o := st.prepareDevice(ctx)
	st.opened <- o
	if o.err != nil {
		return
	}
	defer o.session.Close()
	var serving sync.WaitGroup
	for more := range st.servers {
		for range more {
			serving.Go(func() { st.evaluate(ctx, o.session) })
		}
	}
	serving.Wait()
}

// pace is the fastest median that the devices know of. A job waits at the device while the one
// ahead is evaluated. So the best time that it was given may be out of date.
type pace struct {
	mu sync.Mutex
	ms float64 // 0: none
}

// beside is the time that a variant races against: the best that the devices know of, or the one
// that was given with the variant.
func (p *pace) beside(given float64) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if given == 0 || 0 < p.ms && p.ms < given {
		return p.ms
	}
	return given
}

func (p *pace) keep(o trial.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ms := o.Time.Median; o.Status == trial.OK && (p.ms == 0 || ms < p.ms) {
		p.ms = ms
	}
}

func (st *stages) evaluate(ctx context.Context, session device.Session) {
	for j := range st.toDevice {
		if j.err = ctx.Err(); j.err == nil {
			j.outcome, j.err = session.Evaluate(ctx, j.variant, st.pace.beside(j.best))
			st.pace.keep(j.outcome)
		}
		if j.err != nil {
			j.err = fmt.Errorf("evaluate %s: %w", j.variant.Configuration, j.err)
		}
		st.evaluated <- j
	}
}

func (st *stages) prepareDevice(ctx context.Context) (o opening) {
	start := time.Now()
	defer func() { o.took = time.Since(start) }()
	reference, err := device.CompileReference(ctx, st.subject.Device, st.subject.Problem, 0)
	if err != nil {
		o.err = err
		return o
	}
	o.session, o.err = st.subject.Device.Open(ctx, st.subject.Problem, reference, st.subject.Protocol)
	return o
}
