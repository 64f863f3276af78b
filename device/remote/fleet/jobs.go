package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/operator"
)

// task is a job that this worker has, or had a short while ago.
type task struct {
	remote.Request
	reply  string // where its answer is waited for
	answer []byte // nil: it is not done yet
}

// Bounds on the jobs of a worker: how many it has, and how long it keeps an answer that may
// not have been heard.
const (
	mostOpenTasks = 4096
	keptAnswer    = 15 * time.Second
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
	name := q.Search + "." + strconv.FormatUint(q.ID, 10)
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.tasks[name]
	switch {
	case t == nil && w.open < mostOpenTasks && ctx.Err() == nil:
		t = &task{Request: q, reply: msg.Reply}
		w.tasks[name] = t
		w.open++
		w.working.Go(func() {
			w.tell(t, w.do(ctx, t))
			time.AfterFunc(keptAnswer, func() { w.forget(name) })
		})
	case t != nil:
		t.reply = msg.Reply
		w.send(t)
	}
}

func (w *worker) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tasks, name)
}

func (w *worker) tell(t *task, r remote.Response) {
	r.ID, r.Kind, r.Worker = t.ID, t.Kind, w.Name
	data, err := remote.Encode(r)
	if err != nil {
		data, _ = remote.Encode(remote.Response{ID: r.ID, Kind: r.Kind, Worker: r.Worker, Fault: &remote.Fault{Kind: remote.Trouble, Message: "the answer cannot be told: " + err.Error()}})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t.answer = data
	w.open--
	w.send(t)
}

// send sends a job's answer if there is one. The lock is held.
func (w *worker) send(t *task) {
	if t.answer != nil && t.reply != "" {
		_ = w.Conn.Publish(t.reply, t.answer) // if it is lost, the search asks again
	}
}

// ended is the answer to a job that this worker does not do, or not to its end.
func ended(why error, begun bool) remote.Response {
	return remote.Response{Fault: &remote.Fault{Kind: remote.Ended, Message: why.Error(), Crashed: begun}}
}

// do does a job, and the worker goes on should this program panic over it.
func (w *worker) do(ctx context.Context, t *task) (r remote.Response) {
	defer func() {
		if p := recover(); p != nil {
			r = t.Given(fmt.Sprintf("the worker %s met a fault of its own: %v", w.Name, p))
		}
	}()
	if t.Kind == remote.Describe {
		return remote.Response{Devices: []device.Info{w.library.device.Info()}}
	}
	p, err := w.library.problem(ctx, t.Problem)
	if err == nil && t.Kind == remote.Compile {
		select {
		case w.compilers <- struct{}{}:
			defer func() { <-w.compilers }()
		case <-ctx.Done():
		}
	}
	begin, j := time.Now(), remote.Job{}
	if err == nil && ctx.Err() == nil {
		j, err = w.prepare(ctx, t.Request, p)
	}
	switch {
	case ctx.Err() != nil:
		return ended(context.Cause(ctx), false)
	case errors.Is(err, nats.ErrNoResponders): // the search may be there again in a moment
		return ended(err, false)
	case err != nil:
		return remote.Response{Fault: remote.FaultOf(err)}
	case t.Kind == remote.Compile:
		return remote.Response{Compiled: &compile.Binary{Log: remote.First(j.Binary.Log), Duration: time.Since(begin), Cached: j.Binary.Cached}}
	}
	return w.onDevice(ctx, j)
}

func (w *worker) onDevice(ctx context.Context, j remote.Job) remote.Response {
	r, err := w.Do(ctx, j)
	switch {
	case errors.Is(err, remote.ErrGivenBack) || ctx.Err() != nil:
		return ended(cmp.Or(context.Cause(ctx), err), false)
	case err != nil:
		err = fmt.Errorf("%s: %w", j.Configuration, err)
		w.end(err)
		return ended(err, true)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done++
	return r
}

// prepare brings what a job needs beside a session.
func (w *worker) prepare(ctx context.Context, q remote.Request, p *problem) (j remote.Job, err error) {
	j = remote.Job{Request: q, Problem: p.Problem, Protocol: p.spec.Protocol}
	j.Prepare = func(ctx context.Context) (*compile.Binary, func(), error) { return w.opening(ctx, p) }
	if q.Digest == "" {
		return j, nil
	}
	if j.Kernel, err = q.KernelOf(p.Problem, nil); err == nil {
		j.Binary, err = w.library.binary(ctx, j.Kernel, q)
	}
	return j, err
}

// opening is what a problem needs to be opened: the reference, unless no kernel says what is
// right, and its data files.
func (w *worker) opening(ctx context.Context, p *problem) (reference *compile.Binary, release func(), err error) {
	a := p.Operator.Answers
	if a != nil && p.spec.Named && !w.options.Python {
		return nil, nil, &device.ReferenceError{Operator: p.Operator.Name, Fault: fmt.Sprintf("is a Python file, which the worker %s does not run: `autotune worker --python` does", w.Name)}
	}
	if a == nil {
		var kernel operator.Kernel
		if kernel, err = p.Reference(); err == nil {
			reference, err = w.library.binary(ctx, kernel, remote.Request{})
		}
		if err != nil {
			return nil, nil, err
		}
	}
	_, release, err = w.options.Spool.hold(ctx, w.library.from(p.search), p.spec.Data)
	return reference, release, err
}
