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

	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device"
	"autotune/tuner/device/pool/broker"
	"autotune/tuner/device/pool/wire"
	"autotune/tuner/trial"
)

// How long things may take.
const (
	serverPause = 200 * time.Millisecond
	publishWait = 5 * time.Second
	lookEvery   = 500 * time.Millisecond // whether who should answer is still there
)

// post sends a search's jobs and has their answers.
type post struct {
	broker  *broker.Broker
	search  string
	closing context.Context
	cancel  context.CancelFunc
	ended   sync.WaitGroup

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]*letter
}

// letter is a job whose answer is waited for.
type letter struct {
	wire.Job
	subject   string
	data      []byte
	answer    chan wire.Answer
	again     int // how often it was sent anew
	senseless int // answers
}

// mostSenseless is how many answers to a job may make no sense.
const mostSenseless = 3

func openPost(ctx context.Context, b *broker.Broker, search string) (*post, error) {
	p := &post{broker: b, search: search, waiting: map[uint64]*letter{}}
	p.closing, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var consumer jetstream.Consumer
	err := b.Patiently(ctx, publishWait, func(ctx context.Context) (err error) {
		consumer, err = b.AnswerConsumer(ctx, search)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for answers: %w", err)
	}
	p.ended.Go(func() { p.receive(consumer) })
	p.ended.Go(func() { p.resend(b.Back()) })
	return p, nil
}

// receive hands answers to who waits for them.
func (p *post) receive(consumer jetstream.Consumer) {
	for p.closing.Err() == nil {
		if consumer == nil {
			var err error
			if consumer, err = p.broker.AnswerConsumer(p.closing, p.search); err != nil {
				consumer = nil
				sleep(p.closing, serverPause)
				continue
			}
		}
		limited, cancel := p.broker.Within(p.closing, publishWait)
		batch, err := consumer.Fetch(64, jetstream.FetchContext(limited))
		if err == nil {
			for msg := range batch.Messages() {
				p.deliver(msg)
			}
			err = batch.Error()
		}
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			consumer = nil
			sleep(p.closing, serverPause)
		}
	}
}

// deliver takes an answer. One that nobody waits for came twice, or too late; one that
// makes no sense is as if it had not come, and its job is sent anew.
func (p *post) deliver(msg jetstream.Msg) {
	defer func() { _ = msg.Ack() }()
	id, err := strconv.ParseUint(msg.Subject()[strings.LastIndex(msg.Subject(), ".")+1:], 10, 64)
	if err != nil {
		return
	}
	a, err := wire.Decode[wire.Answer](msg.Data())
	if err == nil && a.ID != id {
		err = fmt.Errorf("it is of job %d", a.ID)
	}
	p.mu.Lock()
	l := p.waiting[id]
	if l != nil && err != nil {
		if l.senseless++; l.senseless < mostSenseless {
			l.again++
			p.mu.Unlock()
			p.ended.Go(func() { _ = p.send(p.closing, l) })
			return
		}
		a = l.given(fmt.Sprintf("%d answers made no sense, the last: %v", l.senseless, err))
	}
	delete(p.waiting, id)
	p.mu.Unlock()
	if l != nil {
		l.answer <- a
	}
}

// given is the answer to a job that no worker can answer.
func (l *letter) given(message string) wire.Answer {
	a := wire.Answer{ID: l.ID, Outcome: trial.Outcome{Status: trial.Crashed, Message: message}}
	if l.Kind != wire.Evaluate && l.Kind != wire.Check {
		a.Fault = &wire.Fault{Kind: wire.Trouble, Message: message}
	}
	return a
}

// resend sends again what waits for an answer when the connection was lost: a server
// that was started again may have forgotten it. What it has not is done twice.
func (p *post) resend(connected <-chan struct{}) {
	for {
		select {
		case <-connected:
		case <-p.closing.Done():
			return
		}
		if err := p.broker.Restore(p.closing); err != nil && p.closing.Err() == nil {
			sleep(p.closing, serverPause)
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
func (p *post) ask(ctx context.Context, subject string, j wire.Job, there func() error) (wire.Answer, error) {
	p.mu.Lock()
	p.last++
	j.Search, j.ID = p.search, p.last
	p.mu.Unlock()
	data, err := wire.Encode(j)
	if err != nil {
		return wire.Answer{}, err
	}
	l := &letter{Job: j, subject: subject, data: data, answer: make(chan wire.Answer, 1)}
	p.mu.Lock()
	p.waiting[j.ID] = l
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.waiting, j.ID)
		p.mu.Unlock()
	}()
	if err := p.send(ctx, l); err != nil {
		return wire.Answer{}, err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case a := <-l.answer:
			return a, nil
		case <-look.C:
			if err := there(); err != nil {
				return wire.Answer{}, err
			}
		case <-ctx.Done():
			return wire.Answer{}, ctx.Err()
		case <-p.closing.Done():
			return wire.Answer{}, errors.New("the pool is closed")
		}
	}
}

func (p *post) close() {
	p.cancel()
	p.ended.Wait()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// someone is an error when no worker has been there for a while.
func (p *Pool) someone() func() error {
	gone := time.Time{}
	return func() error {
		switch {
		case len(p.Workers()) > 0:
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > p.options.Patience:
			return fmt.Errorf("no worker has been there for %s%s: %w", p.options.Patience, p.members.lastWords(), device.ErrGone)
		}
		return nil
	}
}

// one is an error when a worker is gone.
func (p *Pool) one(name string) func() error {
	return func() error {
		if p.members.has(name) {
			return nil
		}
		return fmt.Errorf("worker %s%s: %w", name, p.members.lastWords(), device.ErrGone)
	}
}
