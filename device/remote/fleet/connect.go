// Package fleet connects a search with workers on other machines through a NATS server that stores nothing.
//
// A worker serves its device with the same messages as a child process serves its GPU, and it makes and compiles the
// kernels itself. A search uses each worker as an ordinary device, which is a member of a remote.Pool. The search
// repeats a request until the answer arrives, so that a lost message costs only a moment. The worker carries each
// request out once and keeps the answer for a while. A worker that has not answered for too long leaves the pool, and
// another worker gets its job.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/remote"
	"autotune/internal/lists"
)

// ErrServer means that the NATS server cannot be used. Errors that wrap ErrServer say why the server cannot be used.
var ErrServer = errors.New("no NATS server")

// Login holds a server's address and the credentials for it; empty fields are not used.
type Login struct {
	URL         string
	Credentials string // file of a user's JWT and key, as nsc writes it
	NKey        string // file of a user's seed
	CA          string // file of the authority that has signed the server's certificate
	Cert, Key   string // files of this side's own certificate
}

// plainHosts are the hosts to which a password may be sent without TLS, since nobody else can listen.
var plainHosts = []string{"localhost", "127.0.0.1", "::1"}

const (
	connectLimit = 4 * time.Second
	pingInterval = 900 * time.Millisecond // after two unanswered pings the connection is made anew
)

// ConnectOptions adjust a Broker. The zero value of ConnectOptions is right except in tests.
type ConnectOptions struct {
	// Beat is the interval at which a search asks which workers are there; 0 means 2 s.
	Beat time.Duration
	// Gone is the time after which a silent worker counts as gone; 0 means four times Beat.
	Gone time.Duration
	// Limit is how long the broker tries to restore a lost connection; 0 means for ever.
	Limit time.Duration
	// Say is called with news about the connection for the user. If Say is nil, messages about the connection are
	// dropped.
	Say func(text string)
}

// Broker is a connection to a NATS server.
type Broker struct {
	ConnectOptions
	Conn   *nats.Conn
	server string // its address, for messages
	// since is the time at which the connection was lost, or 0 while it is up, and back is the time at which it was
	// last restored. since and back are in nanoseconds.
	since, back atomic.Int64
}

// Connect connects to a server. name appears in the server's list of connections.
func Connect(l Login, name string, o ConnectOptions) (*Broker, error) {
	options, err := l.options()
	if err != nil {
		return nil, err
	}
	o.Beat = cmp.Or(o.Beat, 2*time.Second)
	o.Gone = cmp.Or(o.Gone, 4*o.Beat)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	b := &Broker{ConnectOptions: o, server: strings.Join(lists.Of(strings.Split(l.URL, ","), shown), ",")}
	options = append(options, nats.Name("autotune "+name), nats.Timeout(connectLimit), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(b.disconnected), nats.ReconnectHandler(b.reconnected),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.ReconnectWait(200*time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2))
	if b.Conn, err = nats.Connect(l.URL, options...); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", b.server, ErrServer, err)
	}
	return b, nil
}

func (b *Broker) disconnected(_ *nats.Conn, cause error) {
	if cause == nil || !b.since.CompareAndSwap(0, time.Now().UnixNano()) { // the connection was closed on purpose
		return
	}
	until := "until it is there again"
	if b.Limit > 0 {
		until = fmt.Sprintf("for %s at most", b.Limit)
	}
	b.Say(fmt.Sprintf("the connection to %s is lost (%v); it is tried again %s", b.server, cause, until))
}

func (b *Broker) reconnected(*nats.Conn) {
	b.back.Store(time.Now().UnixNano())
	away := time.Since(time.Unix(0, b.since.Swap(0)))
	b.Say(fmt.Sprintf("the connection to %s is there again after %s", b.server, away.Round(100*time.Millisecond)))
}

// connection reports whether the connection is up. lost is set once the broker has given up restoring the connection.
func (b *Broker) connection() (up bool, lost error) {
	since := b.since.Load()
	if since > 0 && b.Limit > 0 && time.Since(time.Unix(0, since)) > b.Limit {
		lost = fmt.Errorf("%s: %w: it was not to be reached for %s", b.server, ErrServer, b.Limit)
	}
	return since == 0, lost
}

// ask sends a request once and waits for its answer for at most the given time.
func (b *Broker) ask(ctx context.Context, subject string, data []byte, wait time.Duration) (*nats.Msg, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return b.Conn.RequestWithContext(limited, subject, data)
}

// Look collects the descriptions of all workers, sorted by name, until no further worker answers for a while.
func (b *Broker) Look(ctx context.Context) (all []remote.Worker, err error) {
	inbox := b.Conn.NewRespInbox()
	answers, err := b.Conn.SubscribeSync(inbox)
	if err == nil {
		defer answers.Unsubscribe()
		err = b.Conn.PublishRequest(whoSubject, inbox, nil)
	}
	for wait := firstAnswer; err == nil && len(all) < mostListed; wait = nextAnswer {
		limited, cancel := context.WithTimeout(ctx, wait)
		msg, late := answers.NextMsgWithContext(limited)
		cancel()
		if late != nil || msg.Header.Get("Status") != "" { // no worker listens
			break
		}
		if one, err := remote.Decode[remote.Worker](msg.Data); err == nil {
			all = append(all, one)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ask for the workers: %w", err)
	}
	slices.SortFunc(all, func(a, b remote.Worker) int { return strings.Compare(a.Worker, b.Worker) })
	return all, ctx.Err()
}

// The following constants limit how long Look waits for the first answer and for each further answer, and how many
// workers it lists.
const (
	firstAnswer = time.Second
	nextAnswer  = 200 * time.Millisecond
	mostListed  = 8 * device.MostWorkers
)

const whoSubject = "autotune.who" // all workers answer it

// WorkerSubject returns the NATS subject on which a worker receives requests.
func WorkerSubject(worker string) string { return "autotune.worker." + worker }

func (b *Broker) Close() { b.Conn.Close() }

// options returns the options of the connection, or an error if other users can read a file with a secret.
func (l Login) options() ([]nats.Option, error) {
	var options []nats.Option
	if l.Credentials != "" {
		if err := private(l.Credentials); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(l.Credentials))
	}
	if l.NKey != "" {
		if err := private(l.NKey); err != nil {
			return nil, err
		}
		option, err := nats.NkeyOptionFromSeed(l.NKey)
		if err != nil {
			return nil, fmt.Errorf("%s is no file of an nkey's seed: %w", l.NKey, err)
		}
		options = append(options, option)
	}
	if l.CA != "" {
		options = append(options, nats.RootCAs(l.CA))
	}
	if l.Cert != "" || l.Key != "" {
		options = append(options, nats.ClientCert(l.Cert, l.Key))
	}
	if l.CA == "" && l.Cert == "" && l.Key == "" {
		return options, l.checkPlain()
	}
	return append(options, nats.Secure()), nil
}

// checkPlain returns an error if a password would be sent without TLS over a network where others can read it.
func (l Login) checkPlain() error {
	for _, one := range strings.Split(l.URL, ",") {
		u, err := url.Parse(one)
		if err != nil || u.Host == "" {
			return fmt.Errorf("%q is no server's address; want nats://HOST:4222 or tls://HOST:4222", shown(one))
		}
		plain := u.Scheme != "tls" && u.Scheme != "wss" && !slices.Contains(plainHosts, u.Hostname())
		if plain && u.User != nil {
			return fmt.Errorf("%s would get its password unencrypted; use tls://, or --nats-ca FILE", shown(one))
		}
	}
	return nil
}

// private returns an error if other users of this machine can read the secret in a file.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s holds a secret that others here can read; chmod 600 %s", path, path)
	}
	return nil
}

func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	return u.Redacted()
}
