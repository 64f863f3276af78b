// Package fleet joins a search with workers on other machines, at a NATS server that keeps nothing.
//
// The search sees the workers that have one model of GPU, one driver and one compiler as one device, a Pool. It asks one
// worker to do one job, again and again until it has heard the answer, so that a lost message costs no more than a
// moment; the worker does the job once, and keeps the answer for a while. A job whose worker dies, or is not heard of
// for too long, goes to another worker. What the first may answer then is heard by nobody, so a search has one trial a
// configuration. Larger contents than a message takes are fetched in parts from whoever has them.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device/remote"
)

const (
	WhoSubject  = "autotune.who"  // all workers answer with a sign of life
	BeatSubject = "autotune.beat" // signs of life
)

func WorkerSubject(worker string) string { return "autotune.worker." + worker }

func fetchSubject(peer string) string { return "autotune.fetch." + peer }

// ConnectOptions adjust a Broker. The zero value is right but for tests.
type ConnectOptions struct {
	// Beat is how often workers give signs of life; 0: 2 s.
	Beat time.Duration
	// Gone is how long a worker may give none and still be there; 0: as long as four take.
	Gone time.Duration
	// Limit is how long a lost connection is tried to be made again; 0: for ever.
	Limit time.Duration
	// Say is called with what a person should know about the connection; nil: nobody is told.
	Say func(text string)
}

const (
	usualBeat   = 2 * time.Second
	missedBeats = 4 // that a worker may miss and still be there
)

type Broker struct {
	ConnectOptions
	Conn   *nats.Conn
	server string // its address, to show

	mu     sync.Mutex
	since  time.Time   // when the connection was lost; zero: it is there
	giveUp *time.Timer // runs while it is lost
	lost   error       // why it is tried no more
}

func newBroker(server string, o ConnectOptions) *Broker {
	o.Beat = cmp.Or(o.Beat, usualBeat)
	o.Gone = cmp.Or(o.Gone, missedBeats*o.Beat)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	return &Broker{ConnectOptions: o, server: server}
}

// Connection tells whether the connection is there, and why it never will be again.
func (b *Broker) Connection() (up bool, lost error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.since.IsZero() && b.lost == nil, b.lost
}

func (b *Broker) disconnected(_ *nats.Conn, cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if cause == nil || !b.since.IsZero() { // it was closed
		return
	}
	b.since = time.Now()
	until := "until it is there again"
	if b.Limit > 0 {
		until = fmt.Sprintf("for %s at most", b.Limit)
		b.giveUp = time.AfterFunc(b.Limit, b.end)
	}
	go b.Say(fmt.Sprintf("the connection to %s is lost (%v); it is tried again %s", b.server, cause, until))
}

func (b *Broker) reconnected(*nats.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.giveUp != nil {
		b.giveUp.Stop()
	}
	go b.Say(fmt.Sprintf("the connection to %s is there again after %s", b.server, time.Since(b.since).Round(100*time.Millisecond)))
	b.since = time.Time{}
}

func (b *Broker) end() {
	b.mu.Lock()
	b.lost = fmt.Errorf("%s: %w: it was not to be reached for %s", b.server, ErrServer, b.Limit)
	b.mu.Unlock()
	b.Conn.Close()
}

// Ask sends a request and waits for its answer, once and for so long.
func (b *Broker) Ask(ctx context.Context, subject string, data []byte, wait time.Duration) (*nats.Msg, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return b.Conn.RequestWithContext(limited, subject, data)
}

// Look gathers signs of life, by the workers' names, until none has come for a while.
func (b *Broker) Look(ctx context.Context) (all []remote.Beat, err error) {
	inbox := b.Conn.NewRespInbox()
	answers, err := b.Conn.SubscribeSync(inbox)
	if err == nil {
		defer answers.Unsubscribe()
		err = b.Conn.PublishRequest(WhoSubject, inbox, nil)
	}
	for wait := firstBeat; err == nil && len(all) < mostListed; wait = nextBeat {
		limited, cancel := context.WithTimeout(ctx, wait)
		msg, late := answers.NextMsgWithContext(limited)
		cancel()
		if late != nil || msg.Header.Get("Status") != "" { // nobody listens
			break
		}
		if beat, err := remote.Decode[remote.Beat](msg.Data); err == nil {
			all = append(all, beat)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the workers: %w", err)
	}
	slices.SortFunc(all, func(a, b remote.Beat) int { return strings.Compare(a.Worker, b.Worker) })
	return all, ctx.Err()
}

// How long to wait for the first worker's sign of life, and for one more.
const (
	firstBeat = time.Second
	nextBeat  = 200 * time.Millisecond
)

// errorHeader has why an object cannot be had.
const errorHeader = "Autotune-Error"

// Serve answers those who fetch from this peer. open gives what it keeps, which is closed
// where it can be.
func (b *Broker) Serve(peer string, open func(object string) (io.ReaderAt, error)) (*nats.Subscription, error) {
	return b.Conn.Subscribe(fetchSubject(peer), func(msg *nats.Msg) {
		answer := nats.NewMsg(msg.Reply)
		f, err := remote.Decode[remote.Fetch](msg.Data)
		if err == nil {
			answer.Data, err = part(f, open)
		}
		if err != nil {
			answer.Header.Set(errorHeader, err.Error())
		}
		_ = b.Conn.PublishMsg(answer) // one that is lost is asked for again
	})
}

func part(f remote.Fetch, open func(object string) (io.ReaderAt, error)) ([]byte, error) {
	r, err := open(f.Object)
	if err != nil {
		return nil, err
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	data := make([]byte, remote.ChunkBytes)
	n, err := r.ReadAt(data, f.Offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}

// Of fetching: how long to wait for a part before it is asked for again, and how long
// without any part before it is given up.
const (
	partWait  = 2 * time.Second
	fetchWait = 10 * time.Second
	again     = 200 * time.Millisecond
)

// Fetch writes an object of a peer's, which may have so many bytes. The peer may be away
// for so long.
func (b *Broker) Fetch(ctx context.Context, peer string, away time.Duration, object string, most int64, to io.Writer) error {
	f := remote.Fetch{Object: object}
	for last := time.Now(); ; {
		data, err := remote.Encode(f)
		if err != nil {
			return err
		}
		msg, err := b.Ask(ctx, fetchSubject(peer), data, partWait)
		patience := fetchWait
		if errors.Is(err, nats.ErrNoResponders) {
			patience = away
		}
		switch {
		case err != nil && ctx.Err() == nil && time.Since(last) < patience:
			remote.Pause(ctx, again)
			continue
		case err == nil && msg.Header.Get(errorHeader) != "":
			err = errors.New(msg.Header.Get(errorHeader))
		case err == nil && f.Offset+int64(len(msg.Data)) > most:
			err = fmt.Errorf("it has more than %d bytes", most)
		}
		if err != nil {
			return fmt.Errorf("fetch %s: %w", object, err)
		}
		if _, err := to.Write(msg.Data); err != nil || len(msg.Data) < remote.ChunkBytes {
			return err
		}
		last = time.Now()
		f.Offset += remote.ChunkBytes
	}
}

// IsGone tells whether a peer is there no more.
func (b *Broker) IsGone(ctx context.Context, peer string) bool {
	_, err := b.Ask(ctx, fetchSubject(peer), nil, partWait)
	return errors.Is(err, nats.ErrNoResponders)
}

func (b *Broker) Close() { b.Conn.Close() }
