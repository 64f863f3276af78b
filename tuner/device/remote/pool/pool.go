// Package pool is a device that is many: the workers at a NATS server that have one
// model of GPU, one driver and one compiler, or as many emulators.
//
// What a search asks is a job in the server's queue, which any worker may take, or in
// the queue of one worker. A job whose worker dies, or is not heard of for too long, goes
// to another worker. The first answer counts and others are dropped, so a search has one
// trial a configuration.
package pool

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/remote"
	"autotune/tuner/device/remote/broker"
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

// Pool is the device. It implements device.Pool.
type Pool struct {
	options  Options
	broker   *broker.Broker
	roster   *remote.Roster
	beats    *nats.Subscription
	model    remote.Beat
	post     *post
	problems problems
}

// Open finds the workers; there must be one soon. The broker is then the pool's to close.
func Open(ctx context.Context, b *broker.Broker, o Options) (*Pool, error) {
	o.Wait, o.Patience = cmp.Or(o.Wait, remote.UsualPatience), cmp.Or(o.Patience, remote.UsualPatience)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	p := &Pool{options: o, broker: b, roster: &remote.Roster{GPU: o.GPU, Gone: b.Gone, Connected: b.Conn.IsConnected, Say: o.Say}}
	if err := p.watch(ctx); err != nil {
		return nil, err
	}
	p.model = p.roster.Model()
	p.problems = problems{broker: b, search: rand.Text(), keys: map[string][]byte{}, known: map[bound]string{}, bundles: map[*operator.Operator]*bundle{}}
	var err error
	if p.post, err = openPost(ctx, b, p.problems.search); err != nil {
		return nil, errors.Join(err, p.beats.Unsubscribe())
	}
	p.post.ended.Go(func() { p.problems.refresh(p.post.closing) })
	return p, nil
}

// Look lists the workers at a server, by name, as they last said.
func Look(ctx context.Context, b *broker.Broker) ([]remote.Beat, error) {
	keys, err := b.Workers.ListKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	var all []remote.Beat
	for key := range keys.Keys() {
		entry, err := b.Workers.Get(ctx, key)
		if err != nil {
			continue // it has just gone
		}
		if beat, err := remote.Decode[remote.Beat](entry.Value()); err == nil && beat.Worker == key && beat.State != remote.Left {
			all = append(all, beat)
		}
	}
	slices.SortFunc(all, func(a, b remote.Beat) int { return strings.Compare(a.Worker, b.Worker) })
	return all, nil
}

// watch waits for the first worker, and has the roster go on listening.
func (p *Pool) watch(ctx context.Context) (err error) {
	// All that is put into the bucket passes by here, also over a connection that was made
	// anew.
	p.beats, err = p.broker.Conn.Subscribe("$KV."+broker.Workers+".>", func(msg *nats.Msg) {
		if beat, err := remote.Decode[remote.Beat](msg.Data); err == nil {
			p.roster.Meet(beat)
		}
	})
	if err != nil {
		return fmt.Errorf("watch the workers: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.beats.Unsubscribe())
		}
	}()
	there, err := Look(ctx, p.broker)
	if err != nil {
		return err
	}
	for _, beat := range there {
		p.roster.Meet(beat)
	}
	late := time.After(p.options.Wait)
	for met := p.roster.Choose(); len(p.Workers()) == 0 || met < p.options.All; met = p.roster.Choose() {
		if 0 < p.options.All && p.options.All <= met { // all are here, and none takes jobs
			return p.roster.None()
		}
		select {
		case <-time.After(lookEvery / 10):
		case <-late:
			return p.roster.None()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Info describes the workers' model.
func (p *Pool) Info() device.Info { return p.model.Device }

// Arch is what their kernels are compiled for.
func (p *Pool) Arch() string { return p.model.Arch }

// Compiler compiles on the workers.
func (p *Pool) Compiler() compile.Compiler { return compiler{p} }

// Workers names those that take jobs now.
func (p *Pool) Workers() []string { return p.roster.Names() }

// Worker is one of them as a device of its own.
func (p *Pool) Worker(name string) device.Device { return remote.Only(p, name, p.open) }

// Open prepares a problem on whichever worker comes first; the others do when they get
// their first job of it.
func (p *Pool) Open(ctx context.Context, problem *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	return p.open(ctx, "", problem, reference, proto)
}

// Summary says in a line what was found.
func (p *Pool) Summary() string { return p.roster.Summary() }

// Close leaves the workers to others.
func (p *Pool) Close() error {
	err := p.beats.Unsubscribe()
	p.post.close()
	if p.broker.Conn.IsConnected() { // else the server forgets in time
		limited, cancel := p.broker.Within(context.Background(), publishWait)
		p.problems.withdraw(limited)
		cancel()
	}
	p.broker.Close()
	return err
}
