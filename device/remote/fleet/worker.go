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
	"autotune/device/trial"
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
	// Say is called with what a person should know, from any goroutine; nil: nobody is told.
	Say func(text string)
}

const (
	usualMemory = 0.8              // of the device's
	mostOpen    = 8                // problems at once
	idleLimit   = 10 * time.Minute // after which a problem is closed that nobody asks about
)

// Serve offers a device until ctx ends, which is no error; or until the device cannot
// go on, or another worker has the name. The device stays the caller's to close.
func Serve(ctx context.Context, b *Broker, d device.Device, o WorkerOptions) error {
	if !remote.GoodName(o.Name) {
		return fmt.Errorf("a worker cannot be called %q: letters, digits, - and _ are allowed, 64 at most", o.Name)
	}
	o.Compilers = cmp.Or(o.Compilers, max(1, d.Compiler().Workers()))
	o.Memory = cmp.Or(o.Memory, int64(usualMemory*float64(d.Info().Limits.MemoryBytes)))
	if o.Say == nil {
		o.Say = func(string) {}
	}
	working, end := context.WithCancelCause(ctx)
	defer end(nil)
	w := &worker{
		Broker: b, options: o, end: end, compilers: make(chan struct{}, o.Compilers), started: time.Now(), jobs: map[string]*job{},
		server: remote.Server{Device: d, Memory: o.Memory, Most: mostOpen, Python: o.Python},
	}
	err := w.enter(working)
	if err == nil {
		for remote.Pause(working, idleLimit/10) {
			_ = w.server.Sweep(idleLimit) // what it held is free, or the device says so next
		}
		w.working.Wait()
		if ctx.Err() == nil {
			err = context.Cause(working)
		}
		_ = b.Conn.FlushTimeout(enterWait) // the connection is closed next
	}
	return errors.Join(err, w.server.Close())
}

type worker struct {
	*Broker
	options   WorkerOptions
	server    remote.Server
	end       context.CancelCauseFunc
	working   sync.WaitGroup
	compilers chan struct{} // holds one for each that is at work
	started   time.Time
	senseless sync.Once // a message was, which is told once

	mu   sync.Mutex
	jobs map[string]*job // that it has or had a short while ago, by their requests' IDs
	open int             // jobs that are not answered yet
	done int
}

const enterWait = time.Second

// enter makes the worker known, unless there is one of its name.
func (w *worker) enter(ctx context.Context) error {
	subject := WorkerSubject(w.options.Name)
	question, err := remote.Encode(remote.Request{Kind: remote.Describe})
	if err != nil {
		return err
	}
	_, err = w.ask(ctx, subject, question, enterWait)
	switch {
	case err == nil:
		return fmt.Errorf("there is a worker %s already; name this one otherwise with --name", w.options.Name)
	case !errors.Is(err, nats.ErrNoResponders) && !errors.Is(err, context.DeadlineExceeded): // those mean that nobody answers
		return fmt.Errorf("make the worker known: %w", err)
	}
	jobs, err := w.Conn.Subscribe(subject, func(msg *nats.Msg) { w.receive(ctx, msg) })
	if err != nil {
		return fmt.Errorf("make the worker known: %w", err)
	}
	who, err := w.Conn.Subscribe(whoSubject, func(msg *nats.Msg) { w.introduce(msg.Reply) })
	if err != nil {
		return errors.Join(fmt.Errorf("make the worker known: %w", err), jobs.Unsubscribe())
	}
	context.AfterFunc(ctx, func() { _ = who.Unsubscribe() }) // the connection is closed soon
	return nil
}

// introduce tells a search what this worker is. An answer that is lost is asked for again.
func (w *worker) introduce(reply string) {
	d, o := w.server.Device, w.options
	w.mu.Lock()
	about := remote.Worker{
		Worker: o.Name, Device: d.Info(), Arch: d.Arch(), Compilers: o.Compilers, Done: w.done, UnderWay: w.open, Started: w.started,
	}
	w.mu.Unlock()
	if data, err := remote.Encode(about); err == nil {
		_ = w.Conn.Publish(reply, data)
	}
}

// job is a request that this worker does, or did a short while ago.
type job struct {
	remote.Request
	reply  string // where its answer is waited for
	answer []byte // nil: it is not done yet
}

// Bounds on the jobs of a worker: how many it has, and how long it keeps an answer that may
// not have been heard.
const (
	mostJobs   = 4096
	keptAnswer = 15 * time.Second
)

// receive takes a job. One that it has had is not done again: its answer is sent again. If there
// are too many jobs it ignores one, which the search asks for again.
func (w *worker) receive(ctx context.Context, msg *nats.Msg) {
	q, err := remote.Decode[remote.Request](msg.Data)
	if err == nil && q.Kind == remote.Launch {
		err = errors.New("workers launch nothing for programs that watch")
	}
	if err == nil && q.Check.Leave != "" {
		err = errors.New("workers leave no files")
	}
	if err != nil {
		w.senseless.Do(func() { w.options.Say(fmt.Sprintf("messages that make no sense are dropped, as one: %s", err)) })
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.jobs[q.ID]
	switch {
	case j != nil:
		j.reply = msg.Reply
		w.send(j)
	case w.open < mostJobs && ctx.Err() == nil:
		j = &job{Request: q, reply: msg.Reply}
		w.jobs[q.ID] = j
		w.open++
		w.working.Go(func() {
			w.tell(j, w.do(ctx, q))
			time.AfterFunc(keptAnswer, func() { w.forget(q.ID) })
		})
	}
}

func (w *worker) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.jobs, id)
}

func (w *worker) tell(j *job, r remote.Response) {
	r.ID, r.Kind, r.Worker = j.ID, j.Kind, w.options.Name
	data, err := remote.Encode(r)
	if err != nil {
		r = j.Failed(trial.Crashed, "the answer cannot be told: "+err.Error())
		r.Worker = w.options.Name
		data, _ = remote.Encode(r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	j.answer = data
	w.open--
	w.done++
	w.send(j)
}

// send sends a job's answer if there is one. The lock is held.
func (w *worker) send(j *job) {
	if j.answer != nil && j.reply != "" {
		_ = w.Conn.Publish(j.reply, j.answer) // if it is lost, the search asks again
	}
}

// do does a job, and the worker goes on should this program panic over it.
func (w *worker) do(ctx context.Context, q remote.Request) (r remote.Response) {
	defer func() {
		if p := recover(); p != nil {
			r = q.Failed(trial.Crashed, fmt.Sprintf("the worker %s met a fault of its own: %v", w.options.Name, p))
		}
	}()
	switch q.Kind {
	case remote.Describe:
		return remote.Response{Devices: []device.Info{w.server.Device.Info()}}
	case remote.Compile:
		select {
		case w.compilers <- struct{}{}:
			defer func() { <-w.compilers }()
		case <-ctx.Done():
		}
	}
	r, err := w.server.Answer(ctx, q, remote.Extra{})
	switch {
	case ctx.Err() != nil && (err != nil || r.Fault != nil):
		r.Fault = &remote.Fault{Kind: remote.Ended, Message: context.Cause(ctx).Error()}
	case err != nil:
		err = fmt.Errorf("%s: %w", q.Configuration, err)
		w.end(err)
		r.Fault = &remote.Fault{Kind: remote.Ended, Message: err.Error(), Crashed: true}
	}
	return r
}
