package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
	"autotune/tuner/trial"
)

const (
	publishWait = 5 * time.Second
	lookEvery   = 500 * time.Millisecond // whether who should answer is still there
)

// post sends a search's jobs and has their answers. A worker keeps a job until the search
// has said that it has the answer.
type post struct {
	broker  *broker.Broker
	search  string
	closing context.Context
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	answers *nats.Subscription

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]*letter
}

// letter is a job whose answer is waited for.
type letter struct {
	remote.Request
	subject   string
	data      []byte
	answer    chan remote.Response
	again     int // how often it was sent anew
	senseless int // answers
}

// mostSenseless is how many answers to a job may make no sense.
const mostSenseless = 3

func openPost(ctx context.Context, b *broker.Broker, search string) (p *post, err error) {
	p = &post{broker: b, search: search, waiting: map[uint64]*letter{}}
	p.closing, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.answers, err = b.Conn.Subscribe(broker.AnswerSubject(search, "*"), p.deliver)
	if err != nil {
		return nil, fmt.Errorf("ask for answers: %w", err)
	}
	p.ended.Go(p.resend)
	return p, nil
}

// deliver takes an answer. One that nobody waits for came twice, or too late. One that
// makes no sense is as if it had not come, and its job is sent anew.
func (p *post) deliver(msg *nats.Msg) {
	defer func() { _ = msg.Respond(nil) }() // a worker that does not hear of it answers again
	id, err := strconv.ParseUint(msg.Subject[strings.LastIndex(msg.Subject, ".")+1:], 10, 64)
	if err != nil {
		return
	}
	a, err := remote.Decode[remote.Response](msg.Data)
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.waiting[id]
	if l == nil {
		return
	}
	if err == nil && (a.ID != id || a.Kind != l.Kind) {
		err = fmt.Errorf("it is of the job %d to %s", a.ID, a.Kind)
	}
	if err != nil {
		if l.senseless++; l.senseless < mostSenseless {
			l.again++
			p.ended.Go(func() { _ = p.send(p.closing, l) })
			return
		}
		a = l.given(fmt.Sprintf("%d answers made no sense, the last: %v", l.senseless, err))
	}
	delete(p.waiting, id)
	l.answer <- a
}

// given is the answer to a job that no worker can answer.
func (l *letter) given(message string) remote.Response {
	if l.Kind == remote.Evaluate || l.Kind == remote.Check {
		return remote.Response{ID: l.ID, Kind: l.Kind, Outcome: trial.Outcome{Status: trial.Crashed, Message: message}}
	}
	return remote.Response{ID: l.ID, Kind: l.Kind, Fault: &remote.Fault{Kind: remote.Trouble, Message: message}}
}

// resend sends again what waits for an answer when the connection was lost: a server
// that was started again may have forgotten it. What it has not forgotten is done twice.
func (p *post) resend() {
	for {
		select {
		case <-p.broker.Back():
		case <-p.closing.Done():
			return
		}
		if err := p.broker.Restore(p.closing); err != nil {
			broker.Pause(p.closing, lookEvery)
		}
		p.mu.Lock()
		letters := slices.Collect(maps.Values(p.waiting))
		for _, l := range letters {
			l.again++
		}
		p.mu.Unlock()
		for _, l := range letters {
			_ = p.send(p.closing, l)
		}
	}
}

// send puts a job into its queue. The server takes it once however often it is tried.
func (p *post) send(ctx context.Context, l *letter) error {
	p.mu.Lock()
	name := fmt.Sprintf("job.%s.%d.%d", p.search, l.ID, l.again)
	p.mu.Unlock()
	err := p.broker.Patiently(ctx, publishWait, func(ctx context.Context) error {
		_, err := p.broker.Stream.Publish(ctx, l.subject, l.data, jetstream.WithMsgID(name))
		return err
	})
	if err != nil {
		return fmt.Errorf("send a job: %w", err)
	}
	return nil
}

// ask sends a job and waits for its answer, as long as there is somebody to answer it.
func (p *post) ask(ctx context.Context, subject string, q remote.Request, there func() error) (remote.Response, error) {
	p.mu.Lock()
	p.last++
	q.Search, q.ID = p.search, p.last
	p.mu.Unlock()
	data, err := remote.Encode(q)
	if err != nil {
		return remote.Response{}, err
	}
	l := &letter{Request: q, subject: subject, data: data, answer: make(chan remote.Response, 1)}
	p.mu.Lock()
	p.waiting[q.ID] = l
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, q.ID)
		p.mu.Unlock()
	}()
	if err := p.send(ctx, l); err != nil {
		return remote.Response{}, err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case a := <-l.answer:
			return a, nil
		case <-look.C:
			if err := there(); err != nil {
				return remote.Response{}, err
			}
		case <-ctx.Done():
			return remote.Response{}, ctx.Err()
		case <-p.closing.Done():
			return remote.Response{}, errors.New("the pool is closed")
		}
	}
}

func (p *post) close() {
	p.cancel()
	_ = p.answers.Unsubscribe() // the connection is closed next
	p.ended.Wait()
}
