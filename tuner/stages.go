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

// job is a configuration on its way through compilation and evaluation; each step stores its results in the job. The
// job's field `err` means that the compiler or the device itself failed, not that the variant did.
type job struct {
	id      int64
	turn    int // position in the order in which jobs were begun
	variant device.Variant
	trial   trial.Trial
	best    float64 // fastest median when the job was sent to the device, for racing
	outcome trial.Outcome
	err     error
}

type opening struct {
	session device.Session
	took    time.Duration
	err     error
}

// stages are the goroutines beside the search's loop: the compilers and the device. The stages never block when they
// send, since each channel has capacity for all configurations under way.
type stages struct {
	subject *final.Subject // the problem and the device
	space   *space.Space
	pool    device.Pool // the workers, if the device is a pool; else nil
	can     device.Properties
	pace    pace

	toCompile chan job
	compiled  chan job
	toDevice  chan job
	servers   chan int // numbers of goroutines to add at toDevice
	opened    chan opening
	evaluated chan job

	// The fields from session to serving are used only by the goroutine of the search's loop.
	session   device.Session // nil until the device is open
	open      bool           // the device is open, or opening it failed
	dropped   bool           // the search waits only for the job on the device
	compilers int            // goroutines that receive from toCompile
	serving   int            // goroutines at toDevice, including requested ones
	compiling int            // number of configurations with the compilers
	ready     []job          // compiled jobs that wait for the device
	chosen    int            // index in ready of the next job for the device
	onDevice  int            // jobs on the device, or waiting at it
	begun     map[int64]bool // configurations under way

	underway     context.Context // context of all work; that of compilations is derived from it
	compilations context.Context
	drop         context.CancelFunc // cancels the compilations
	cancel       context.CancelFunc // cancels all work under way
	group        sync.WaitGroup
}

func (st *stages) start(ctx context.Context) {
	ctx, st.cancel = context.WithCancel(ctx)
	st.underway = ctx
	compilations, share := st.workers(), policy.deviceShare
	if st.pool != nil { // workers may join and leave
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

// lookahead returns how many configurations may be under way at once, so that devices never wait for a compiler. A
// device that compiles nothing, such as a recording, gets one configuration at a time, so that a repeated replay makes
// the same trials.
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

// underWay returns how many configurations are being compiled or evaluated, not counting dropped configurations.
func (st *stages) underWay() int {
	if st.dropped && st.pool != nil && len(st.pool.Workers()) == 0 {
		return 0 // no worker is left to finish them
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

// await queues a compiled job for the device, in the order in which jobs were begun, not in which they were compiled.
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

// next returns the next job for the device and the channel to send it to. A job is chosen if it need not wait for other
// configurations, and the earliest such job comes first. The channel that next returns is nil if every job must wait,
// if the device is not open, or if the device already has as many jobs as it may have at once.
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

// dropAll drops all configurations under way, except for the one that the device is evaluating.
func (st *stages) dropAll() {
	st.dropped, st.ready = true, nil
	st.drop()
	select {
	case <-st.toDevice:
		st.onDevice--
	default:
	}
}

// close ends the stages. After close, jobs that the device has finished can still be read from the channel `evaluated`.
func (st *stages) close() {
	st.cancel()
	close(st.toCompile)
	close(st.toDevice)
	close(st.servers)
	st.group.Wait()
	close(st.evaluated)
}

// staff starts goroutines until there is one for each compiler and each worker of the device, including workers that
// have joined a pool.
func (st *stages) staff() {
	for ; st.compilers < st.workers(); st.compilers++ {
		st.group.Go(func() {
			for j := range st.toCompile {
				st.compiled <- st.prepare(st.compilations, j)
			}
		})
	}
	want := 1
	if st.pool != nil { // each worker's next job waits at the worker, not here
		want = st.share()
	}
	if want > st.serving {
		st.servers <- want - st.serving
		st.serving = want
	}
}

// prepare compiles a job's configuration to a variant, or sets the trial's status if the compiler refuses the kernel.
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
	var reference *device.ReferenceError // comes from a worker that opens the problem to compile this kernel
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

// serve opens the device's session, and starts goroutines on request, each of which evaluates one variant at a time.
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

// pace holds the shortest median time that the devices have measured so far. The best time that is sent with a job may
// become out of date while the job waits for another evaluation to end.
type pace struct {
	mu sync.Mutex
	ms float64 // 0: none
}

// beside returns the time against which a variant races, which ends the timing of slow variants early: the shortest
// median measured so far, or the given time if that is shorter.
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
