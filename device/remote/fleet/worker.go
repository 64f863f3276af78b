package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/remote"
)

// WorkerOptions adjust a worker; only a name is needed.
type WorkerOptions struct {
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
)

// Serve offers a device until ctx ends, which is no error; or until the device cannot
// go on, or another worker has the name. The device stays the caller's to close.
func Serve(ctx context.Context, b *Broker, d device.Device, o WorkerOptions) (err error) {
	if !remote.GoodName(o.Name) {
		return fmt.Errorf("a worker cannot be called %q: letters, digits, - and _ are allowed, 64 at most", o.Name)
	}
	w := newWorker(b, d, o)
	h := remote.Host{Device: d, Memory: w.options.Memory, Most: mostOpen}
	if w.Owner, err = remote.Own(ctx, o.Name, h, remote.JoinOptions{ControlEvery: o.ControlEvery}); err != nil {
		return err
	}
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.end = end
	if err = w.enter(working); err == nil {
		w.live(working)
		<-working.Done()
		w.working.Wait()
		if ctx.Err() == nil {
			err = context.Cause(working)
		}
		w.show(BeatSubject, w.Left(err))
		_ = w.Conn.FlushTimeout(enterWait) // the connection is closed next
	}
	err = errors.Join(err, w.Owner.Close())
	if o.Spool == nil {
		err = errors.Join(err, w.options.Spool.Close())
	}
	return err
}

type worker struct {
	*Broker
	*remote.Owner
	options   WorkerOptions
	group     string
	library   library
	end       context.CancelCauseFunc
	working   sync.WaitGroup
	compilers chan struct{} // holds one for each that is at work
	started   time.Time
	senseless sync.Once // a message was, which is told once

	mu    sync.Mutex
	tasks map[string]*task // jobs that it has or had a short while ago, by search and number
	open  int              // of them are not answered yet
	done  int              // jobs
}

func newWorker(b *Broker, d device.Device, o WorkerOptions) *worker {
	o.Compilers = cmp.Or(o.Compilers, max(1, d.Compiler().Workers()))
	o.Memory = cmp.Or(o.Memory, int64(usualMemory*float64(d.Info().Limits.MemoryBytes)))
	if o.Spool == nil {
		o.Spool = &Spool{}
	}
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return &worker{
		Broker: b, options: o, group: remote.Group(d.Info(), d.Arch()), library: library{broker: b, device: d, spool: o.Spool},
		compilers: make(chan struct{}, o.Compilers), started: time.Now(), tasks: map[string]*task{},
	}
}

const enterWait = time.Second

func (w *worker) enter(ctx context.Context) error {
	question, err := remote.Encode(remote.Request{Kind: remote.Describe})
	if err != nil {
		return err
	}
	_, err = w.Ask(ctx, WorkerSubject(w.Name), question, enterWait)
	switch {
	case err == nil:
		return fmt.Errorf("there is a worker %s already; name this one otherwise with --name", w.Name)
	case !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, context.DeadlineExceeded): // those mean that nobody answers
		return fmt.Errorf("make the worker known: %w", err)
	}
	if _, err = w.Conn.Subscribe(WorkerSubject(w.Name), func(msg *nats.Msg) { w.receive(ctx, msg) }); err == nil {
		_, err = w.Conn.Subscribe(WhoSubject, func(msg *nats.Msg) { w.show(msg.Reply, w.beat()) })
	}
	if err == nil {
		_, err = w.Broker.Serve(w.Name, w.library.binaries.open)
	}
	if err != nil {
		return fmt.Errorf("make the worker known: %w", err)
	}
	return nil
}

func (w *worker) live(ctx context.Context) {
	w.working.Go(func() {
		for w.show(BeatSubject, w.beat()); remote.Pause(ctx, w.ConnectOptions.Beat); w.show(BeatSubject, w.beat()) {
		}
	})
	w.working.Go(func() {
		err := w.KeepFit(ctx, func() []float64 { return w.others(ctx) }, func(said string) {
			if said != "" {
				w.options.Say(said)
				w.show(BeatSubject, w.beat())
			}
			w.Sweep(ctx, func(key string) bool { return w.IsGone(ctx, searchOf(key)) })
		})
		if err != nil {
			w.end(err)
		}
	})
}

func (w *worker) beat() remote.Beat {
	b := w.Beat()
	b.Compilers, b.Started = w.options.Compilers, w.started
	w.mu.Lock()
	defer w.mu.Unlock()
	b.Done = w.done
	return b
}

// show sends a sign of life. One that is lost is followed by another.
func (w *worker) show(subject string, b remote.Beat) {
	if data, err := remote.Encode(b); err == nil {
		_ = w.Conn.Publish(subject, data)
	}
}

func (w *worker) others(ctx context.Context) (times []float64) {
	all, err := w.Look(ctx)
	if err != nil {
		return nil
	}
	for _, b := range all {
		if b.Worker != w.Name && b.Group == w.group && b.State == remote.Ready && b.Control.LastMS > 0 {
			times = append(times, b.Control.LastMS)
		}
	}
	return times
}
