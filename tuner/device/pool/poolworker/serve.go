// Package poolworker is the worker's side of a pool: it offers a device to every
// search that uses the same NATS server, compiles for them, and answers for what it
// was asked.
//
// A job stays the server's until it is acknowledged, which is after its answer is
// there. While a worker is at a job, or has it next, it says so every few seconds; a
// worker that no longer does loses the job to another.
package poolworker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device"
	"autotune/tuner/device/pool/broker"
	"autotune/tuner/device/pool/wire"
)

// Options adjust a worker; only a name is needed.
type Options struct {
	Name      string // of wire.GoodName's form, and nobody else's
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

// Usual values.
const (
	usualControl = 30 * time.Second
	usualMemory  = 0.8 // of the device's
	// unused is how long the places are kept where jobs are taken from, without a worker
	// that takes any.
	unused     = time.Hour
	unusedOnly = 5 * time.Minute
)

// Serve offers a device until ctx ends, which is no error; or until the device cannot
// go on, or another worker has the name. The device stays the caller's to close.
func Serve(ctx context.Context, b *broker.Broker, d device.Device, o Options) error {
	w := newWorker(b, d, o)
	if !wire.GoodName(o.Name) {
		return fmt.Errorf("a worker cannot be called %q: letters, digits, - and _ are allowed, 64 at most", o.Name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := w.enter(ctx); err != nil {
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { w.beats(ctx) })
	for range w.Compilers {
		group.Go(func() { w.compileJobs(ctx) })
	}
	any, only := make(chan *task), make(chan *task)
	group.Go(func() {
		w.fetch(ctx, wire.EvaluateSubject(w.group), wire.EvaluateConsumer(w.group), unused, w.ready, any)
	})
	group.Go(func() {
		w.fetch(ctx, wire.OnlySubject(w.Name), "only-"+w.Name, unusedOnly, func() bool { return true }, only)
	})
	err := w.evaluateJobs(ctx, any, only)
	cancel(err)
	group.Wait()
	w.leave(err)
	err = errors.Join(err, w.sessions.close())
	if o.Spool == nil {
		err = errors.Join(err, w.Spool.Close())
	}
	return err
}

// worker is one that serves.
type worker struct {
	*broker.Broker
	Options
	device   device.Device
	can      device.Properties
	group    string
	known    known
	binaries binaries
	sessions sessions
	control  control
	status
}

func newWorker(b *broker.Broker, d device.Device, o Options) *worker {
	if o.Compilers == 0 {
		o.Compilers = max(1, d.Compiler().Workers())
	}
	if o.ControlEvery == 0 {
		o.ControlEvery = usualControl
	}
	if o.Memory == 0 {
		o.Memory = int64(usualMemory * float64(d.Info().Limits.MemoryBytes))
	}
	if o.Spool == nil {
		o.Spool = &Spool{}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	w := &worker{Broker: b, Options: o, device: d, can: d.Info().Kind.Properties(), group: wire.Group(d.Info(), d.Arch())}
	w.status.started = time.Now()
	w.sessions.open = map[string]*session{}
	return w
}

// task is a job that this worker has, until it is done or given back.
type task struct {
	job  wire.Job
	msg  jetstream.Msg
	stop context.CancelFunc // of the signs that it is being done
	// prepared is what it needs besides a session.
	prepared
	err error // why that could not be had
}

// take reads a job and keeps it for this worker. One that nobody can read is dropped.
func (w *worker) take(ctx context.Context, msg jetstream.Msg) *task {
	job, err := wire.Decode[wire.Job](msg.Data())
	if err != nil {
		w.Say("a job that makes no sense is dropped: " + err.Error())
		_ = msg.Term()
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &task{job: job, msg: msg, stop: cancel}
	go func() {
		tick := time.NewTicker(w.Late / 3)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = msg.InProgress()
			case <-ctx.Done():
				return
			}
		}
	}()
	return t
}

// done acknowledges a task whose answer is there, or that needs none.
func (t *task) done() {
	t.stop()
	_ = t.msg.Ack() // one that does not arrive has the job done again, and its answer dropped
}

// giveBack has another worker do a task. It is a new job then: how often one was given
// back says nothing against it.
func (w *worker) giveBack(t *task) {
	t.stop()
	limited, cancel := w.Within(context.Background(), fetchWait)
	defer cancel()
	id := jetstream.WithMsgID(fmt.Sprintf("again.%s.%d.%s", t.job.Search, t.job.ID, rand.Text()))
	if _, err := w.Stream.Publish(limited, t.msg.Subject(), t.msg.Data(), id); err != nil {
		_ = t.msg.Nak()
		return
	}
	_ = t.msg.Ack()
}

// deliveries is how often it was handed out.
func (t *task) deliveries() uint64 {
	m, err := t.msg.Metadata()
	if err != nil {
		return 1
	}
	return m.NumDelivered
}

// Pauses before the server is asked again that did not answer.
const (
	serverPause = 200 * time.Millisecond
	fetchWait   = 5 * time.Second
)

// pause waits, and tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// each hands the jobs of a subject to do, one after another, while may allows it.
func (w *worker) each(ctx context.Context, subject, name string, unused time.Duration, may func() bool, do func(*task)) {
	var consumer jetstream.Consumer
	for ctx.Err() == nil {
		if !may() {
			pause(ctx, serverPause)
			continue
		}
		var err error
		if consumer == nil {
			if consumer, err = w.Consumer(ctx, subject, name, unused); errors.Is(err, jetstream.ErrStreamNotFound) {
				_ = w.Restore(ctx)
			}
		}
		if err == nil {
			err = w.next(ctx, consumer, do)
		}
		if err != nil {
			consumer = nil
			pause(ctx, serverPause)
		}
	}
}

// next waits for a job a while.
func (w *worker) next(ctx context.Context, consumer jetstream.Consumer, do func(*task)) error {
	limited, cancel := w.Within(ctx, fetchWait)
	defer cancel()
	batch, err := consumer.Fetch(1, jetstream.FetchContext(limited))
	if err != nil {
		return err
	}
	for msg := range batch.Messages() {
		if t := w.take(ctx, msg); t != nil {
			do(t)
		}
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// fetch has the next job ready, with all that it needs, while the device is at one.
func (w *worker) fetch(ctx context.Context, subject, name string, unused time.Duration, may func() bool, out chan<- *task) {
	w.each(ctx, subject, name, unused, may, func(t *task) {
		t.prepared, t.err = w.prepare(ctx, t.job)
		select {
		case out <- t:
		case <-ctx.Done():
			w.giveBack(t)
		}
	})
}

// answer tells the search what came of a task, for as long as it takes; a server that
// cannot be reached for long has given the job to another by then.
func (w *worker) answer(ctx context.Context, t *task, a wire.Answer) {
	a.ID, a.Worker, a.ControlMS = t.job.ID, w.Name, w.controlMS()
	data, err := wire.Encode(a)
	if err != nil {
		data, _ = wire.Encode(wire.Answer{ID: a.ID, Worker: a.Worker, Fault: &wire.Fault{Kind: wire.Trouble, Message: "the answer cannot be told: " + err.Error()}})
	}
	// One that is told twice is dropped by the server, or else by the search.
	id := jetstream.WithMsgID(fmt.Sprintf("answer.%s.%d", t.job.Search, t.job.ID))
	err = w.Patiently(ctx, fetchWait, func(ctx context.Context) error {
		_, err := w.Stream.Publish(ctx, wire.AnswerSubject(t.job.Search, strconv.FormatUint(t.job.ID, 10)), data, id)
		return err
	})
	if err != nil {
		w.giveBack(t)
		return
	}
	t.done()
}
