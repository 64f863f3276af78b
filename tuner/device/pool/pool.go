// Package pool is a device that is many: the workers at a NATS server that have one
// model of GPU, one driver and one compiler, or as many emulators.
//
// What a search asks is a job in the server's queue, which any worker may take, or in
// that of one worker. The server sees to it that a job whose worker dies, or is not
// heard of for too long, goes to another; the first answer counts, and others are
// dropped. So an answer is always one's, and a search has one trial a configuration.
package pool

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"crypto/rand"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/pool/broker"
	"autotune/tuner/device/pool/wire"
	"autotune/tuner/operator"
)

// Options adjust a pool; the zero value takes what is there.
type Options struct {
	GPU string // part of the name that the workers' devices have; "": as the first worker's
	// All is how many workers to wait for before the first is used, as long as for one; 0: one.
	All int
	// Wait is how long to wait for the first worker, and Patience for another when the last
	// has gone; 0: 20 s.
	Wait, Patience time.Duration
	// Say is called with what a person should know, from any goroutine; nil: nobody is told.
	Say func(text string)
}

const usualWait = 20 * time.Second

// Pool is the device. It implements device.Pool.
type Pool struct {
	options  Options
	broker   *broker.Broker
	members  *members
	post     *post
	problems problems
}

// Open finds the workers; there must be one soon. The broker is then the pool's to close.
func Open(ctx context.Context, b *broker.Broker, o Options) (*Pool, error) {
	o.Wait, o.Patience = cmp.Or(o.Wait, usualWait), cmp.Or(o.Patience, usualWait)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	m, err := watch(ctx, b, o)
	if err != nil {
		return nil, err
	}
	p := &Pool{options: o, broker: b, members: m}
	p.problems = problems{broker: b, search: rand.Text(), keys: map[string][]byte{}, known: map[bound]string{}, bundles: map[*operator.Operator]*bundle{}}
	if p.post, err = openPost(ctx, b, p.problems.search); err != nil {
		m.close()
		return nil, err
	}
	p.post.ended.Go(p.problems.refresh(p.post.closing))
	return p, nil
}

// Info describes the workers' model.
func (p *Pool) Info() device.Info { return p.members.model.Device }

// Arch is what their kernels are compiled for.
func (p *Pool) Arch() string { return p.members.model.Arch }

// Compiler compiles on the workers.
func (p *Pool) Compiler() compile.Compiler { return compiler{p} }

// Workers names those that take jobs now.
func (p *Pool) Workers() []string { return p.members.names() }

// Worker is one of them as a device of its own.
func (p *Pool) Worker(name string) device.Device { return &member{p, name} }

// Open prepares a problem on whichever worker comes first; the others do when they get
// their first job of it.
func (p *Pool) Open(ctx context.Context, problem *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	return p.open(ctx, problem, proto, "")
}

// Close leaves the workers to others.
func (p *Pool) Close() error {
	p.members.close()
	p.post.close()
	if p.broker.Conn.IsConnected() { // else the server forgets in time
		limited, cancel := p.broker.Within(context.Background(), publishWait)
		p.problems.withdraw(limited)
		_ = p.broker.Stream.DeleteConsumer(limited, wire.AnswerStream, p.problems.search)
		cancel()
	}
	p.broker.Close()
	return nil
}

// member is one of the workers alone: a device like any other, and no pool.
type member struct {
	pool *Pool
	name string
}

func (m *member) Info() device.Info { return m.pool.Info() }

func (m *member) Arch() string { return m.pool.Arch() }

func (m *member) Open(ctx context.Context, problem *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	return m.pool.open(ctx, problem, proto, m.name)
}

// Close does nothing: the worker is the pool's.
func (m *member) Close() error { return nil }

// Compiler compiles on all workers for this one.
func (m *member) Compiler() compile.Compiler { return shared{compiler{m.pool}} }

// shared is a compiler that another closes.
type shared struct{ compiler }

// Workers is one worker's part of them.
func (s shared) Workers() int { return max(1, s.compiler.Workers()/max(1, len(s.pool.Workers()))) }

// Summary says in a line what was found.
func (p *Pool) Summary() string {
	names := p.Workers()
	text := fmt.Sprintf("%d workers with %s", len(names), p.Info().Name)
	if len(names) == 1 {
		text = "1 worker with " + p.Info().Name
	}
	return text + ": " + strings.Join(names[:min(len(names), 8)], ", ") + map[bool]string{true: ", ..."}[len(names) > 8]
}
