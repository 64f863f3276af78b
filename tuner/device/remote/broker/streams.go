// Package broker connects to the NATS server that a search and its workers meet at, and
// keeps there what they use: a queue of jobs, signs of life, problems and objects.
package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"autotune/tuner/device/remote"
)

// How long things are kept whose owner does not come for them, and how much of them.
const (
	jobAge      = 10 * time.Minute
	objectAge   = 2 * time.Hour
	binaryAge   = 3 * time.Minute // it is run soon, or compiled again
	searchAge   = time.Minute     // without a sign of the search
	jobBytes    = 256 << 20
	objectBytes = 2 << 30
	binaryBytes = 512 << 20
	beatBytes   = 16 << 20
	BinaryMost  = 64 << 20 // of one binary
)

// Options adjust a Broker. The zero value is right but for tests.
type Options struct {
	// Beat is how often workers and searches give signs of life; 0: 2 s.
	Beat time.Duration
	// Gone is how long a worker may give none and still be there; 0: as long as four take.
	Gone time.Duration
	// Late is how long a job may be without a sign that it is being done, before another
	// worker gets it; 0: 10 s.
	Late time.Duration
}

// Usual values.
const (
	usualBeat   = 2 * time.Second
	usualLate   = 10 * time.Second
	missedBeats = 4 // that a worker may miss and still be there
)

// Broker is a connection to the server with what is kept there.
type Broker struct {
	Options
	Conn     *nats.Conn
	Stream   jetstream.JetStream
	Workers  jetstream.KeyValue
	Searches jetstream.KeyValue
	Kernels  jetstream.KeyValue // binaries that fit into a message; empty: it is among the Binaries
	Objects  Store
	Binaries Store

	mu   sync.Mutex
	lost chan struct{} // closed when the connection is lost, and then another
	back chan struct{} // holds a token when it was made anew
}

// Within is a context that ends after a while, or when the connection is lost: what was
// asked over it is not answered over another.
func (b *Broker) Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, d)
	b.mu.Lock()
	lost := b.lost
	b.mu.Unlock()
	go func() {
		select {
		case <-lost:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// How the server is asked again that did not answer.
const (
	again    = 200 * time.Millisecond
	patience = 2 * time.Minute
)

// Patiently asks the server again for what it did not answer. Each attempt has a
// time. It ends with ctx, or when the server has not answered for long.
func (b *Broker) Patiently(ctx context.Context, attempt time.Duration, ask func(context.Context) error) error {
	for end := time.Now().Add(patience); ; {
		limited, cancel := b.Within(ctx, attempt)
		err := ask(limited)
		cancel()
		if err == nil || !transient(err) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		Pause(ctx, again)
	}
}

// Pause waits, and tells whether ctx goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// transient tells whether an error is of the connection, or of a server that is not
// ready yet.
func transient(err error) bool {
	for _, one := range []error{
		context.Canceled, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	var slow net.Error // of an object whose pieces do not come any more
	if errors.As(err, &slow) && slow.Timeout() {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.Code == 503
}

// Back has a token each time that the connection was lost and is there again.
func (b *Broker) Back() <-chan struct{} { return b.back }

func (b *Broker) disconnected(*nats.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.lost)
	b.lost = make(chan struct{})
}

func (b *Broker) reconnected(*nats.Conn) {
	select {
	case b.back <- struct{}{}:
	default:
	}
}

// Restore makes what the server does not have yet, or has lost. An object that is there
// stays as it is, even with other settings.
func (b *Broker) Restore(ctx context.Context) error {
	_, err := b.Stream.CreateStream(ctx, jetstream.StreamConfig{
		Name: JobStream, Subjects: []string{JobSubjects}, MaxAge: jobAge, MaxBytes: jobBytes, MaxMsgSize: remote.MessageBytes + 4096,
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("prepare the stream %s: %w", JobStream, err)
	}
	for _, c := range []struct {
		name string
		age  time.Duration
		most int64
		into *jetstream.KeyValue
	}{{Workers, b.Gone, beatBytes, &b.Workers}, {Searches, max(searchAge, b.Gone), beatBytes, &b.Searches}, {Binaries, binaryAge, binaryBytes, &b.Kernels}} {
		kv, err := b.Stream.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: c.name, TTL: c.age, MaxBytes: c.most})
		if errors.Is(err, jetstream.ErrBucketExists) {
			kv, err = b.Stream.KeyValue(ctx, c.name)
		}
		if err != nil {
			return fmt.Errorf("prepare the bucket %s: %w", c.name, err)
		}
		if *c.into == nil { // what is made anew is found by the same name
			*c.into = kv
		}
	}
	for _, c := range []struct {
		name string
		age  time.Duration
		most int64
		into *Store
	}{{Objects, objectAge, objectBytes, &b.Objects}, {Binaries, binaryAge, binaryBytes, &b.Binaries}} {
		objects, err := b.Stream.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: c.name, TTL: c.age, MaxBytes: c.most})
		if errors.Is(err, jetstream.ErrBucketExists) {
			objects, err = b.Stream.ObjectStore(ctx, c.name)
		}
		if err != nil {
			return fmt.Errorf("prepare the object store %s: %w", c.name, err)
		}
		if c.into.ObjectStore == nil {
			*c.into = Store{objects, b, c.age}
		}
	}
	return nil
}

// Of a place where jobs are taken from: how many may be under way, and how many workers may
// wait there. The server's own bounds are below what a thousand workers need.
const (
	mostUnderWay = 1 << 15
	mostWaiting  = 4096
)

// jobWait is how long to wait for a job before the server is asked anew.
const jobWait = 20 * time.Second

// Queue is a subject that its users take jobs from, all together: each gets others. A job
// comes again whose user does not say for too long that it is being done.
type Queue struct {
	Broker   *Broker
	Subject  string
	Name     string        // of the place at the server
	Unused   time.Duration // how long the place is kept without users
	consumer jetstream.Consumer
}

// Next waits for a job until ctx ends. It makes the place where there is none, also at a
// server that has forgotten it.
func (q *Queue) Next(ctx context.Context) (jetstream.Msg, error) {
	for {
		msg, err := q.ask(ctx)
		if err == nil || ctx.Err() != nil {
			return msg, ctx.Err()
		}
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			q.consumer = nil
			Pause(ctx, again)
		}
	}
}

func (q *Queue) ask(ctx context.Context) (jetstream.Msg, error) {
	limited, cancel := q.Broker.Within(ctx, jobWait)
	defer cancel()
	if q.consumer == nil {
		var err error
		q.consumer, err = q.Broker.Stream.CreateOrUpdateConsumer(limited, JobStream, jetstream.ConsumerConfig{
			Durable: q.Name, FilterSubject: q.Subject, AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.Broker.Late, MaxDeliver: -1,
			MaxAckPending: mostUnderWay, MaxWaiting: mostWaiting, InactiveThreshold: q.Unused,
		})
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			err = errors.Join(err, q.Broker.Restore(limited))
		}
		if err != nil {
			return nil, err
		}
	}
	return q.consumer.Next(jetstream.FetchContext(limited))
}

// Close ends the connection.
func (b *Broker) Close() { b.Conn.Close() }
