// Package broker connects to the NATS server that a search and its workers meet at,
// or runs one within this process, and keeps the streams there that they use.
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

	"autotune/tuner/device/pool/wire"
)

// How long things are kept whose owner does not come for them, and how much of them.
const (
	jobAge      = 10 * time.Minute
	answerAge   = 10 * time.Minute
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
	UsualBeat = 2 * time.Second
	UsualLate = 10 * time.Second
)

// missedBeats is how many signs of life a worker may miss and still be there.
const missedBeats = 4

// Broker is a connection to the server with what is kept there.
type Broker struct {
	Options
	Conn     *nats.Conn
	Stream   jetstream.JetStream
	Workers  jetstream.KeyValue
	Searches jetstream.KeyValue
	Objects  Store
	Binaries Store
	storage  jetstream.StorageType

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

// Patiently asks the server again for what it did not answer, within a time for each
// attempt and for as long as ctx goes on, or until it has not answered for long.
func (b *Broker) Patiently(ctx context.Context, attempt time.Duration, ask func(context.Context) error) error {
	for end := time.Now().Add(patience); ; {
		limited, cancel := b.Within(ctx, attempt)
		err := ask(limited)
		cancel()
		if err == nil || !transient(err) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
}

// How the server is asked again.
const (
	again    = 200 * time.Millisecond
	patience = 2 * time.Minute
)

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

// prepare makes what is not there yet.
func (b *Broker) prepare(ctx context.Context) (err error) {
	if b.Beat == 0 {
		b.Beat = UsualBeat
	}
	if b.Gone == 0 {
		b.Gone = missedBeats * b.Beat
	}
	if b.Late == 0 {
		b.Late = UsualLate
	}
	if b.Stream, err = jetstream.New(b.Conn); err != nil {
		return err
	}
	return b.Restore(ctx)
}

// Restore makes what the server has lost: one that keeps all in memory and was
// started again.
func (b *Broker) Restore(ctx context.Context) (err error) {
	for _, c := range []jetstream.StreamConfig{
		{Name: wire.JobStream, Subjects: []string{wire.JobSubjects}, MaxAge: jobAge, MaxBytes: jobBytes},
		{Name: wire.AnswerStream, Subjects: []string{wire.AnswerSubjects}, MaxAge: answerAge, MaxBytes: jobBytes},
	} {
		c.Retention, c.Storage, c.MaxMsgSize, c.Discard = jetstream.WorkQueuePolicy, b.storage, wire.MessageBytes+4096, jetstream.DiscardNew
		if err := made(b.Stream.CreateStream(ctx, c)); err != nil {
			return fmt.Errorf("prepare the stream %s: %w", c.Name, err)
		}
	}
	for _, c := range []struct {
		name string
		age  time.Duration
		into *jetstream.KeyValue
	}{{wire.Workers, b.Gone, &b.Workers}, {wire.Searches, max(searchAge, b.Gone), &b.Searches}} {
		kv, err := b.Stream.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: c.name, TTL: c.age, Storage: b.storage, MaxValueSize: wire.MessageBytes, MaxBytes: beatBytes})
		if exists(err) {
			kv, err = b.Stream.KeyValue(ctx, c.name)
		}
		if err != nil {
			return fmt.Errorf("prepare the bucket %s: %w", c.name, err)
		}
		*c.into = kv
	}
	if b.Objects, err = b.store(ctx, wire.Objects, objectAge, objectBytes); err == nil {
		b.Binaries, err = b.store(ctx, wire.Binaries, binaryAge, binaryBytes)
	}
	return err
}

// made takes a stream that is there already for one that was made.
func made(_ jetstream.Stream, err error) error {
	if exists(err) {
		return nil
	}
	return err
}

// exists tells whether there is one of that name, be it with other settings.
func exists(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) || errors.Is(err, jetstream.ErrBucketExists)
}

// Consumer is where the jobs of a subject are taken from, by all who ask for the same.
func (b *Broker) Consumer(ctx context.Context, subject, name string, unused time.Duration) (jetstream.Consumer, error) {
	return b.Stream.CreateOrUpdateConsumer(ctx, wire.JobStream, jetstream.ConsumerConfig{
		Durable: name, FilterSubject: subject, AckPolicy: jetstream.AckExplicitPolicy, AckWait: b.Late, MaxDeliver: -1, MaxAckPending: 4096,
		InactiveThreshold: unused,
	})
}

// AnswerConsumer is where a search takes its answers from.
func (b *Broker) AnswerConsumer(ctx context.Context, search string) (jetstream.Consumer, error) {
	return b.Stream.CreateOrUpdateConsumer(ctx, wire.AnswerStream, jetstream.ConsumerConfig{
		Durable: search, FilterSubject: wire.AnswerSubject(search, "*"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: b.Late, MaxDeliver: -1,
		InactiveThreshold: answerAge,
	})
}

// Close ends the connection.
func (b *Broker) Close() { b.Conn.Close() }
