package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/remote"
	"autotune/device/trial"
)

// WorkerOptions adjust a worker; only Name is required.
type WorkerOptions struct {
	Name      string // accepted by remote.GoodName, and unique at the server
	Compilers int    // compilations at once; 0 means as many as the compiler recommends
	// Memory is the device memory in bytes that the tensors of all open problems may use together; 0 means four fifths
	// of the device's memory.
	Memory int64
	// Python allows the worker to run Python files of operators, which compute the right answers.
	Python bool
	// Say is called with news for the user, from any goroutine. If Say is nil, the worker's messages to the user are
	// dropped.
	Say func(text string)
}

const (
	usualMemory = 0.8              // share of the device's memory
	mostOpen    = 8                // problems open at once
	idleLimit   = 10 * time.Minute // an unused problem is closed after this time
)

// Serve offers a device to searches until ctx ends, and then returns nil. Serve returns an error if the device fails or
// another worker has the same name. The caller of Serve must close the device.
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
		Broker: b, options: o, end: end, started: time.Now(),
		compilers: make(chan struct{}, o.Compilers), jobs: map[string]*job{},
		server: remote.Server{Device: d, Memory: o.Memory, Most: mostOpen, Python: o.Python},
	}
	err := w.enter(working)
	if err == nil {
		for remote.Pause(working, idleLimit/10) {
			_ = w.server.Sweep(idleLimit) // if it fails, the next request reports the fault of the device
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
	compilers chan struct{} // holds one element for each busy compiler
	started   time.Time
	senseless sync.Once // reports only the first message that cannot be decoded

	mu   sync.Mutex
	jobs map[string]*job // unfinished and recently finished jobs, by their requests' IDs
	open int             // number of unanswered jobs
	done int
}

const enterWait = time.Second

// enter subscribes the worker to requests, unless another worker has the same name.
func (w *worker) enter(ctx context.Context) error {
	all, err := w.Look(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(other remote.Worker) bool { return other.Worker == w.options.Name }) {
		return fmt.Errorf("there is a worker %s already; name this one otherwise with --name", w.options.Name)
	}
	jobs, err := w.Conn.Subscribe(WorkerSubject(w.options.Name), func(msg *nats.Msg) { w.receive(ctx, msg) })
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

// introduce sends a search the description of this worker. If the description is lost on its way, the search asks for
// it again.
func (w *worker) introduce(reply string) {
	d, o := w.server.Device, w.options
	w.mu.Lock()
	about := remote.Worker{
		Worker: o.Name, Device: d.Info(), Arch: d.Arch(), Compilers: o.Compilers,
		Done: w.done, UnderWay: w.open, Started: w.started,
	}
	w.mu.Unlock()
	if data, err := remote.Encode(about); err == nil {
		_ = w.Conn.Publish(reply, data)
	}
}

// job is a request that this worker is working on, or has finished a short while ago.
type job struct {
	remote.Request
	reply  string // subject on which the search waits for the answer
	answer []byte // nil until the job is done
}

// mostJobs is the largest number of unfinished jobs of a worker, and keptAnswer is how long a worker keeps an answer in
// case it was lost on its way.
const (
	mostJobs   = 4096
	keptAnswer = 15 * time.Second
)

// receive starts a job. If the same request arrives again, receive sends the finished answer again and does not repeat
// the job. A worker with too many jobs ignores the request, which the search will repeat.
func (w *worker) receive(ctx context.Context, msg *nats.Msg) {
	q, err := remote.Decode[remote.Request](msg.Data)
	if err == nil && (q.Kind == remote.Describe || q.Kind == remote.Launch || q.Check.Leave != "") {
		err = fmt.Errorf("what no worker does: to %s, with files left in %q", q.Kind, q.Check.Leave)
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

// send publishes a job's answer if it is finished. The caller must hold the worker's lock.
func (w *worker) send(j *job) {
	if j.answer != nil && j.reply != "" {
		_ = w.Conn.Publish(j.reply, j.answer) // if it is lost, the search asks again
	}
}

// do carries out the request q and returns the response. If the code of the worker panics during a job, only that job
// fails, and the worker goes on.
func (w *worker) do(ctx context.Context, q remote.Request) (r remote.Response) {
	defer func() {
		if p := recover(); p != nil {
			r = q.Failed(trial.Crashed, fmt.Sprintf("the worker %s met a fault of its own: %v", w.options.Name, p))
		}
	}()
	if q.Kind == remote.Compile {
		w.compilers <- struct{}{}
		defer func() { <-w.compilers }()
	}
	r, err := w.server.Answer(ctx, q, nil)
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
