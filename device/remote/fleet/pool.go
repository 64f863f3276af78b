package fleet

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/internal/lists"
	"autotune/operator"
)

// Options adjust a pool; the zero value takes what is there.
type Options struct {
	GPU string // part of the name that the workers' devices have; "": as the first worker's
	// Wait is how long to wait for the first worker, and Patience for another when the last
	// has gone; 0: 20 s.
	Wait, Patience time.Duration
	// Say is called with what a person should know, from any goroutine; nil: nobody is told.
	Say func(text string)
}

type Pool struct {
	*remote.Pool
	broker        *Broker
	search        string
	subscriptions []*nats.Subscription

	mu    sync.Mutex
	jobs  uint64            // that were asked for
	known map[bound]string  // keys of problems
	kept  map[string]opener // what workers fetch, by name
	built map[string]string // which worker has a kernel compiled, by its digest
}

// bound is a problem as it is opened.
type bound struct {
	problem *operator.Problem
	proto   device.Protocol
}

type opener func() (io.ReaderAt, error)

// share is how many jobs a worker's device has: one that it does, and the next.
const share = 2

// Open finds the workers; there must be one soon. The broker is then the pool's to close.
func Open(ctx context.Context, b *Broker, o Options) (*Pool, error) {
	if o.Say == nil {
		o.Say = func(string) {}
	}
	p := &Pool{broker: b, search: rand.Text(), known: map[bound]string{}, kept: map[string]opener{}, built: map[string]string{}}
	roster := &remote.Roster{GPU: o.GPU, Gone: b.Gone, Connection: b.Connection, Say: o.Say}
	p.Pool = &remote.Pool{Crew: p, Roster: roster, Share: share, Patience: cmp.Or(o.Patience, remote.UsualPatience)}
	err := p.listen()
	if err == nil {
		err = p.meet(ctx, cmp.Or(o.Wait, remote.UsualPatience))
	}
	if err != nil {
		return nil, errors.Join(err, p.silence())
	}
	return p, nil
}

// listen hears the workers' signs of life, and answers those who fetch.
func (p *Pool) listen() error {
	beats, err := p.broker.Conn.Subscribe(BeatSubject, func(msg *nats.Msg) {
		if beat, err := remote.Decode[remote.Beat](msg.Data); err == nil {
			p.Roster.Meet(beat)
		}
	})
	if err != nil {
		return fmt.Errorf("watch the workers: %w", err)
	}
	p.subscriptions = append(p.subscriptions, beats)
	fetched, err := p.broker.Serve(p.search, p.open)
	if err != nil {
		return fmt.Errorf("offer the problems to the workers: %w", err)
	}
	p.subscriptions = append(p.subscriptions, fetched)
	return nil
}

// mostListed is how many workers are looked at.
const mostListed = 8 * device.MostWorkers

func (p *Pool) meet(ctx context.Context, wait time.Duration) error {
	there, err := p.broker.Look(ctx)
	if err != nil {
		return err
	}
	for _, beat := range there {
		p.Roster.Meet(beat)
	}
	late := time.After(wait)
	for p.Roster.Choose(); len(p.Workers()) == 0; p.Roster.Choose() {
		select {
		case <-time.After(lookEvery):
		case <-late:
			return p.Roster.None()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

const lookEvery = 50 * time.Millisecond

// Announce makes a problem known: its operator's files are there for workers to fetch.
func (p *Pool) Announce(problem *operator.Problem, proto device.Protocol) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key, ok := p.known[bound{problem, proto}]; ok {
		return key, nil
	}
	o := problem.Operator
	archive, err := o.Bundle()
	if err != nil {
		return "", err
	}
	spec := remote.ProblemOf(problem, proto)
	spec.Bundle, spec.Data = remote.BundleName(archive), map[string]remote.Data{}
	total := int64(0)
	for name, d := range o.Data {
		digest, err := d.Digest()
		if err != nil {
			return "", err
		}
		one := remote.Data{Object: remote.DataName(digest), Bytes: d.Start + d.Bytes}
		total += one.Bytes
		spec.Data[name] = one
		p.kept[one.Object] = func() (io.ReaderAt, error) { return openFile(d) }
	}
	if total > remote.DataBytes {
		return "", fmt.Errorf("the data files of %s have %s; workers take %s", o.Name, device.GiB(total), device.GiB(remote.DataBytes))
	}
	text, err := remote.Encode(spec)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s.%d", p.search, len(p.known)+1)
	p.known[bound{problem, proto}] = key
	for name, data := range map[string][]byte{spec.Bundle: archive, key: text} {
		p.kept[name] = func() (io.ReaderAt, error) { return bytes.NewReader(data), nil }
	}
	return key, nil
}

func openFile(d *operator.DataFile) (io.ReaderAt, error) {
	f, err := d.Open()
	if err != nil {
		return nil, err
	}
	if r, ok := f.(io.ReaderAt); ok {
		return r, nil
	}
	return nil, errors.Join(fmt.Errorf("%s cannot be read in parts", d.Name), f.Close())
}

func (p *Pool) open(name string) (io.ReaderAt, error) {
	p.mu.Lock()
	open := p.kept[name]
	p.mu.Unlock()
	if open == nil {
		return nil, errors.New("the search has no such object")
	}
	return open()
}

const mostSenseless = 3

// Answer has a worker do a job. It asks until there is an answer, or nobody to give it.
func (p *Pool) Answer(ctx context.Context, worker string, j remote.Job) (none remote.Response, err error) {
	q := j.Request
	q.Search = p.search
	p.mu.Lock()
	p.jobs++
	q.ID, q.From = p.jobs, p.built[q.Digest]
	p.mu.Unlock()
	data, err := remote.Encode(q)
	if err != nil {
		return none, err
	}
	subject := WorkerSubject(worker)
	if q.Kind == remote.Close { // nobody waits for it
		return remote.Response{Kind: q.Kind}, p.broker.Conn.Publish(subject, data)
	}
	there := p.Roster.Watch(worker, p.Patience)
	for senseless, had := 0, false; ; {
		msg, err := p.broker.Ask(ctx, subject, data, p.broker.Gone/2)
		switch {
		case err == nil:
			r, err := p.read(msg.Data, q, worker)
			if err == nil || errors.Is(err, device.ErrGone) {
				return r, err
			}
			if senseless++; senseless == mostSenseless {
				return q.Given(fmt.Sprintf("%d answers made no sense, the last: %v", senseless, err)), nil
			}
		case ctx.Err() != nil:
			return none, ctx.Err()
		case errors.Is(err, nats.ErrNoResponders):
			remote.Pause(ctx, lookEvery)
		default:
			had = true // perhaps
		}
		if err := there(); err != nil {
			if !had {
				err = fmt.Errorf("%w: %w", remote.ErrGivenBack, err)
			}
			return none, err
		}
	}
}

// read reads an answer, which must be of the job.
func (p *Pool) read(data []byte, q remote.Request, worker string) (remote.Response, error) {
	r, err := remote.Decode[remote.Response](data)
	switch {
	case err != nil:
		return r, err
	case r.ID != q.ID || r.Kind != q.Kind || r.Worker != worker:
		return r, fmt.Errorf("it is %s's of the job %d to %s", r.Worker, r.ID, r.Kind)
	case r.Fault == nil && r.Kind == remote.Compile:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.built[q.Digest] = worker
	case r.Fault != nil && r.Fault.Kind == remote.Ended:
		cause := remote.ErrGivenBack
		if r.Fault.Crashed {
			cause = remote.ErrBegun
		}
		return r, fmt.Errorf("worker %s: %s: %w: %w", worker, r.Fault.Message, cause, device.ErrGone)
	}
	return r, nil
}

func (p *Pool) silence() error {
	all := lists.Of(p.subscriptions, (*nats.Subscription).Unsubscribe)
	return errors.Join(all...)
}

// Close leaves the workers to others.
func (p *Pool) Close() error {
	err := p.silence()
	if up, _ := p.broker.Connection(); !up {
		err = nil
	}
	p.broker.Close()
	return err
}

type compiler struct{ pool *Pool }

func (p *Pool) Compiler() compile.Compiler { return compiler{p} }

func (c compiler) Version() string { return c.pool.Info().Compiler }

const (
	compilersAWorker = 16
	mostCompiling    = 10 * time.Minute
)

func (c compiler) Workers() (total int) {
	for _, compilers := range c.pool.Roster.Compilers() {
		total += min(compilers, compilersAWorker)
	}
	return max(1, total)
}

// Compile has a worker make the kernel and compile it. The binary has no code: where it
// runs, it is known by its kernel.
func (c compiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	if r.Problem == nil {
		return nil, errors.New("the workers of a pool compile kernels of problems only")
	}
	proto := device.ProtocolFor(r.Problem.Operator)
	key, err := c.pool.Announce(r.Problem, proto)
	if err != nil {
		return nil, err
	}
	q := remote.Request{
		Kind: remote.Compile, Problem: key, Configuration: r.Configuration, Digest: r.Kernel.Digest(), Limit: min(r.Timeout, mostCompiling), Inputs: proto.Inputs(),
	}
	a, err := c.pool.Do(ctx, "", remote.Job{Request: q, Problem: r.Problem, Kernel: r.Kernel})
	if errors.Is(err, remote.ErrDeadly) {
		return nil, &compile.Error{File: r.Kernel.File, Message: err.Error(), Crashed: true}
	}
	if err != nil {
		return nil, err
	}
	return a.Compiled, nil
}

func (c compiler) Close() error { return nil }
