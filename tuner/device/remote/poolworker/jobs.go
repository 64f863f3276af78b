package poolworker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
	"autotune/tuner/trial"
)

const (
	serverPause = 200 * time.Millisecond
	fetchWait   = 5 * time.Second
)

// errSearchGone means that nobody waits for a job's answer any more.
var errSearchGone = errors.New("the search is gone")

// task is a job that this worker has, until it is done or given back.
type task struct {
	remote.Job
	msg  jetstream.Msg
	stop context.CancelFunc // of the signs that it is being done
	err  error              // why what it needs could not be had
}

// take waits for a job and keeps it for this worker. A job that nobody can read, or that is
// of other kinds than the queue's, is dropped; nil then.
func (w *worker) take(ctx context.Context, q *broker.Queue, kinds ...remote.Kind) *task {
	msg, err := q.Next(ctx)
	if err != nil {
		return nil
	}
	request, err := remote.Decode[remote.Request](msg.Data())
	if err == nil && !slices.Contains(kinds, request.Kind) {
		err = fmt.Errorf("a job to %s among those to %s", request.Kind, kinds[0])
	}
	if err != nil {
		w.Say("a job that makes no sense is dropped: " + err.Error())
		_ = msg.Term()
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for broker.Pause(ctx, w.Late/3) {
			_ = msg.InProgress()
		}
	}()
	return &task{Job: remote.Job{Request: request}, msg: msg, stop: cancel}
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
	id := jetstream.WithMsgID(fmt.Sprintf("again.%s.%d.%s", t.Search, t.ID, rand.Text()))
	if _, err := w.Stream.Publish(limited, t.msg.Subject(), t.msg.Data(), id); err != nil {
		_ = t.msg.Nak()
		return
	}
	_ = t.msg.Ack()
}

// guard answers for a task over which this program panics: the worker goes on.
func (w *worker) guard(ctx context.Context, t *task, work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.crashed(ctx, t, fmt.Sprintf("the worker %s met a fault of its own: %v", w.Name, p))
		}
	}()
	return work()
}

// crashed answers for a job that nobody can do.
func (w *worker) crashed(ctx context.Context, t *task, message string) {
	if t.Kind == remote.Evaluate || t.Kind == remote.Check {
		w.answer(ctx, t, remote.Response{Outcome: trial.Outcome{Status: trial.Crashed, Message: message}})
		return
	}
	w.answer(ctx, t, remote.Response{Fault: &remote.Fault{Kind: remote.Refused, Message: message, Crashed: true}})
}

// tooOften answers for a job that outlived as many workers as one may.
func (w *worker) tooOften(ctx context.Context, t *task) bool {
	m, err := t.msg.Metadata()
	if err != nil || m.NumDelivered <= remote.Deliveries {
		return false
	}
	w.crashed(ctx, t, remote.HandedOut(m.NumDelivered-1))
	return true
}

// prepare brings what a job needs beside a session.
func (w *worker) prepare(ctx context.Context, t *task) error {
	p, err := w.library.problem(ctx, t.Request.Problem)
	if err != nil {
		return err
	}
	t.Problem, t.Protocol = p.Problem, p.spec.Protocol
	t.Prepare = func(ctx context.Context) (*compile.Binary, func(), error) { return w.opening(ctx, p) }
	if t.Digest == "" {
		return nil
	}
	if t.Kernel, err = t.KernelOf(p.Problem, nil); err == nil {
		t.Binary, err = w.library.binary(ctx, t.Kernel, t.Limit)
	}
	return err
}

// opening is what a problem needs to be opened: the reference, unless no kernel says what is
// right, and its data files.
func (w *worker) opening(ctx context.Context, p *problem) (reference *compile.Binary, release func(), err error) {
	a := p.Operator.Answers
	if a != nil && a.Python != nil && p.spec.Named && !w.Python {
		return nil, nil, &device.ReferenceError{Operator: p.Operator.Name, Fault: fmt.Sprintf("is a Python file, which the worker %s does not run: `autotune worker --python` does", w.Name)}
	}
	if a == nil {
		kernel, err := p.Reference()
		if err != nil {
			return nil, nil, err
		}
		if reference, err = w.library.binary(ctx, kernel, 0); err != nil {
			return nil, nil, err
		}
	}
	_, release, err = w.Spool.hold(ctx, w.Broker, p.spec.Data)
	return reference, release, err
}

func (w *worker) compile(ctx context.Context, t *task) error {
	if w.tooOften(ctx, t) {
		return nil
	}
	begin := time.Now()
	if err := w.prepare(ctx, t); err != nil {
		w.fail(ctx, t, err)
		return nil
	}
	compiled := remote.CompiledOf(t.Binary)
	compiled.Duration = time.Since(begin)
	w.answer(ctx, t, remote.Response{Compiled: compiled})
	return nil
}

// fail answers with why a job could not be done, if anybody wants to know.
func (w *worker) fail(ctx context.Context, t *task, err error) {
	switch {
	case ctx.Err() != nil:
		w.giveBack(t)
	case errors.Is(err, errSearchGone):
		t.done()
	default:
		w.answer(ctx, t, remote.Response{Fault: remote.FaultOf(err)})
	}
}

// do does one job. An error is the device's: it can do no more.
func (w *worker) do(ctx context.Context, t *task) error {
	return w.guard(ctx, t, func() error {
		if w.tooOften(ctx, t) {
			return nil
		}
		if t.err != nil {
			w.fail(ctx, t, t.err)
			return nil
		}
		r, err := w.host.Do(ctx, t.Job)
		if ctx.Err() != nil {
			w.giveBack(t)
			return nil
		}
		if err != nil {
			t.stop() // it comes to another worker when this one has ended
			return fmt.Errorf("%s: %w", t.Configuration, err)
		}
		w.count()
		w.answering.Go(func() { w.answer(ctx, t, r) }) // the device does not wait for the server
		return nil
	})
}

// answer tells the search what came of a task, until the search has heard it. A search that
// cannot be reached for long finds the job given to another.
func (w *worker) answer(ctx context.Context, t *task, r remote.Response) {
	_, control := w.fitness.State()
	r.ID, r.Kind, r.Worker, r.ControlMS = t.ID, t.Kind, w.Name, control.LastMS
	data, err := remote.Encode(r)
	if err != nil {
		data, _ = remote.Encode(remote.Response{ID: r.ID, Kind: r.Kind, Worker: r.Worker, Fault: &remote.Fault{Kind: remote.Trouble, Message: "the answer cannot be told: " + err.Error()}})
	}
	subject := broker.AnswerSubject(t.Search, strconv.FormatUint(t.ID, 10))
	err = w.Patiently(ctx, fetchWait, func(ctx context.Context) error {
		_, err := w.Conn.RequestWithContext(ctx, subject, data)
		if errors.Is(err, nats.ErrNoResponders) && w.library.searchIsGone(ctx, t.Request.Problem) {
			return nil
		}
		return err
	})
	if err != nil {
		w.giveBack(t)
		return
	}
	t.done()
}
