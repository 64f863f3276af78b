// Package poolworker is the worker's side of a pool: it offers a device to every
// search that uses the same NATS server, compiles for them, and answers what it is
// asked.
//
// A job stays the server's until it is acknowledged, which is after the search has its
// answer. While a worker is at a job, or has it next, it says so every few seconds. A
// worker that no longer does loses the job to another.
package poolworker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
)

// Options adjust a worker; only a name is needed.
type Options struct {
	Name      string // of remote.GoodName's form, and nobody else's
	Compilers int    // compilations at once; 0: as many as the compiler is good for
	// Memory is how much of the device's the tensors of all problems may take together;
	// 0: four fifths of it.
	Memory int64
	// Python: run the Python files of operators that say what is right.
	Python bool
	// Spool is where data files are, shared with other workers of this process or not; nil:
	// one of this worker's own.
	Spool *Spool
	// ControlEvery is the time between two of the control; 0: half a minute.
	ControlEvery time.Duration
	// Say is called with what a person should know, from any goroutine; nil: nobody is told.
	Say func(text string)
}

const (
	usualMemory = 0.8 // of the device's
	mostOpen    = 8   // problems at once
	// unused is how long the places are kept where jobs are taken from, without a worker
	// that takes any.
	unused     = time.Hour
	unusedOnly = 5 * time.Minute
)

// Serve offers a device until ctx ends, which is no error; or until the device cannot
// go on, or another worker has the name. The device stays the caller's to close.
func Serve(ctx context.Context, b *broker.Broker, d device.Device, o Options) error {
	w := newWorker(b, d, o)
	if !remote.GoodName(o.Name) {
		return fmt.Errorf("a worker cannot be called %q: letters, digits, - and _ are allowed, 64 at most", o.Name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := w.enter(ctx); err != nil {
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { w.beats(ctx) })
	group.Go(func() { w.compileJobs(ctx) })
	any, only := make(chan *task), make(chan *task)
	group.Go(func() {
		w.fetch(ctx, w.queue(broker.EvaluateSubject(w.group), broker.EvaluateConsumer(w.group), unused), w.ready, any)
	})
	group.Go(func() {
		w.fetch(ctx, w.queue(broker.OnlySubject(w.Name), "only-"+w.Name, unusedOnly), func() bool { return true }, only)
	})
	err := w.evaluateJobs(ctx, any, only)
	cancel(err)
	group.Wait()
	w.answering.Wait()
	w.leave(err)
	err = errors.Join(err, w.host.Close(), w.fitness.Close())
	if o.Spool == nil {
		err = errors.Join(err, w.Spool.Close())
	}
	return err
}

// worker is one that serves.
type worker struct {
	*broker.Broker
	Options
	device    device.Device
	group     string
	library   library
	host      remote.Host // used by the goroutine that drives the device, as is fitness.Time
	fitness   *remote.Fitness
	answering sync.WaitGroup // answers of the device that are on their way
	status
}

func newWorker(b *broker.Broker, d device.Device, o Options) *worker {
	if o.Compilers == 0 {
		o.Compilers = max(1, d.Compiler().Workers())
	}
	o.Memory = cmp.Or(o.Memory, int64(usualMemory*float64(d.Info().Limits.MemoryBytes)))
	if o.Spool == nil {
		o.Spool = &Spool{}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	group := remote.Group(d.Info(), d.Arch())
	return &worker{
		Broker: b, Options: o, device: d, group: group, status: status{started: time.Now()},
		library: library{broker: b, device: d, group: group, spool: o.Spool, say: o.Say},
		host:    remote.Host{Device: d, Memory: o.Memory, Most: mostOpen},
	}
}

func (w *worker) queue(subject, name string, unused time.Duration) *broker.Queue {
	return &broker.Queue{Broker: w.Broker, Subject: subject, Name: name, Unused: unused}
}

// compileJobs compiles for searches, as many kernels at once as there are compilers.
func (w *worker) compileJobs(ctx context.Context) {
	q := w.queue(broker.CompileSubject(w.group), "compile-"+w.group, unused)
	compilers := make(chan struct{}, w.Compilers) // holds one for each that is at work
	var compiling sync.WaitGroup
	defer compiling.Wait()
	for ctx.Err() == nil {
		compilers <- struct{}{} // once one is free
		t := w.take(ctx, q, remote.Compile)
		if t == nil {
			<-compilers
			continue
		}
		compiling.Go(func() {
			defer func() { <-compilers }()
			w.guard(ctx, t, func() error { return w.compile(ctx, t) })
		})
	}
}

// fetch has the next job ready, with all that it needs, while the device is at one.
func (w *worker) fetch(ctx context.Context, q *broker.Queue, ready func() bool, out chan<- *task) {
	for ctx.Err() == nil {
		if !ready() {
			broker.Pause(ctx, serverPause)
			continue
		}
		t := w.take(ctx, q, remote.Open, remote.Evaluate, remote.Check, remote.Refill)
		if t == nil {
			continue
		}
		w.guard(ctx, t, func() error {
			t.err = w.prepare(ctx, t)
			return nil
		})
		select {
		case out <- t:
		case <-ctx.Done():
			w.giveBack(t)
		}
	}
}

// evaluateJobs is all that the device does: jobs, one at a time, those for this worker
// alone first, and the control between them.
func (w *worker) evaluateJobs(ctx context.Context, any, only <-chan *task) error {
	again := time.NewTimer(w.fitness.Next())
	defer again.Stop()
	for {
		var err error
		select {
		case t := <-only:
			err = w.do(ctx, t)
		default:
			select {
			case t := <-only:
				err = w.do(ctx, t)
			case t := <-any:
				if !w.ready() {
					w.giveBack(t)
					continue
				}
				err = w.do(ctx, t)
			case <-again.C:
				err = w.timeControl(ctx)
				again.Reset(w.fitness.Next())
			case <-ctx.Done():
				return nil
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// timeControl times the control, and closes the problems of searches that are gone.
func (w *worker) timeControl(ctx context.Context) error {
	said, err := w.fitness.Time(ctx, w.others(ctx))
	if err != nil {
		return fmt.Errorf("the control: %w", err)
	}
	if said != "" {
		w.Say(said)
	}
	w.host.Sweep(func(key string) bool { return w.library.searchIsGone(ctx, key) })
	return nil
}
