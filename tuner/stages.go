package tuner

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// job is a configuration on its way through the stages. Each adds what it found out. An
// err means that the stage itself cannot go on.
type job struct {
	id      int64
	turn    int // jobs keep the order in which they were begun
	variant device.Variant
	trial   trial.Trial
	best    float64 // fastest median when the device got it, for racing
	outcome trial.Outcome
	err     error
}

// opening is what came of preparing the device for the problem.
type opening struct {
	session device.Session
	took    time.Duration
	err     error
}

// deviceShare is how many jobs a device has at once: the one that it evaluates and the
// next, so that it does not wait for the loop between two.
const deviceShare = 2

// mostCompilations is how many run side by side at most, wherever they do.
const mostCompilations = 8 * device.MostWorkers

// stages are the goroutines beside the search's loop: compilers and the device. No channel
// ever blocks one of them: each has room for all that can be on the way to the loop.
type stages struct {
	problem  *operator.Problem
	space    *space.Space
	device   device.Device
	pool     device.Pool // the device, if it is several; nil: it is one
	can      device.Properties
	protocol device.Protocol
	energy   bool // is measured of every variant

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
	onDevice  int            // with the device, or next in its turn

	compilations context.Context
	drop         context.CancelFunc // ends the compilations
	cancel       context.CancelFunc // ends everything under way
	cancelled    func() bool        // whether everything under way was ended
	group        sync.WaitGroup
	log          workLog
}

// start opens the device and gets ready for configurations.
func (st *stages) start(ctx context.Context) {
	ctx, st.cancel = context.WithCancel(ctx)
	st.cancelled = func() bool { return ctx.Err() != nil }
	compilations, share := st.workers(), deviceShare
	if st.pool != nil { // its workers come and go
		compilations, share = mostCompilations, deviceShare*device.MostWorkers
	}
	st.toCompile, st.compiled = make(chan job, compilations), make(chan job, compilations)
	st.toDevice, st.servers = make(chan job, deviceShare-1), make(chan int, share)
	st.evaluated, st.opened = make(chan job, share), make(chan opening, 1)
	st.group.Go(func() { st.serve(ctx) })
	st.compilations, st.drop = context.WithCancel(ctx)
}

// workers is how many compilations run side by side.
func (st *stages) workers() int {
	if !st.can.Compiles {
		return 1
	}
	return min(max(1, st.device.Compiler().Workers()), mostCompilations)
}

// devices is how many evaluate side by side.
func (st *stages) devices() int {
	if st.pool == nil {
		return 1
	}
	return min(max(1, len(st.pool.Workers())), device.MostWorkers)
}

// share is how many jobs the devices have at once.
func (st *stages) share() int { return deviceShare * st.devices() }

// lookahead is how many configurations may be under way: enough that the devices never wait
// for a compiler. When nothing is compiled it is one, which makes a replayed search
// repeatable to the last trial.
func (st *stages) lookahead(b Breakdown) int {
	if !st.can.Compiles {
		return 1
	}
	most := 2*st.workers() + st.share() - 1
	if st.pool == nil {
		return most
	}
	return min(most, st.share()+st.devices()*(1+b.compilationsAnEvaluation()))
}

// room tells whether another configuration should be begun.
func (st *stages) room(b Breakdown) bool {
	return st.compiling < st.workers() && st.underWay() < st.lookahead(b)
}

// underWay is how many configurations were begun and have no trial yet.
func (st *stages) underWay() int {
	if st.dropped {
		return st.onDevice
	}
	return st.compiling + len(st.ready) + st.onDevice
}

// begin hands a configuration to the compilers, which have room for it.
func (st *stages) begin(id int64, turn int) {
	st.compiling++
	st.toCompile <- job{id: id, turn: turn}
}

// await has a compiled job wait for the device. Jobs wait in the order in which they were
// begun: what was compiled first is not what promises most.
func (st *stages) await(j job) {
	at, _ := slices.BinarySearchFunc(st.ready, j, func(a, b job) int { return cmp.Compare(a.turn, b.turn) })
	st.ready = slices.Insert(st.ready, at, j)
}

// next is the job that the device gets next, and the channel to it; nil while there is
// none, the device is not open, or it has its share.
func (st *stages) next() (chan<- job, job) {
	if len(st.ready) == 0 || !st.open || st.onDevice >= st.share() {
		return nil, job{}
	}
	return st.toDevice, st.ready[0]
}

// sent takes note that the device has the next job.
func (st *stages) sent() { st.ready, st.onDevice = st.ready[1:], st.onDevice+1 }

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
