// Package fleet joins a search with workers on other machines, at a NATS server that keeps nothing.
//
// A worker serves its device as a child process serves its GPU, with the same messages: it makes and compiles the
// kernels itself. For the search it is a device as any other, and a member of a remote.Pool. A request is sent again
// until its answer has come, so that a lost message costs no more than a moment; the worker does it once, and keeps the
// answer for a while. A worker that is not heard of for too long leaves the pool, and another does its job.
package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
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

// ErrServer means that the server cannot be used; the message wrapped around it says
// why.
var ErrServer = errors.New("no NATS server")

// Login is how to get into a server: all that is not "" is used.
type Login struct {
	URL         string
	Credentials string // file of a user's JWT and key, as nsc writes it
	NKey        string // file of a user's seed
	CA          string // file of the authority that the server's certificate must be of
	Cert, Key   string // files of this side's own certificate
}

// plainHosts are where nobody else can listen.
var plainHosts = []string{"localhost", "127.0.0.1", "::1"}

const (
	connectLimit = 4 * time.Second
	pingInterval = 900 * time.Millisecond // two without an answer, and the connection is made anew
)

// ConnectOptions adjust a Broker. The zero value is right but for tests.
type ConnectOptions struct {
	// Beat is how often a search asks who is there; 0: 2 s.
	Beat time.Duration
	// Gone is how long a worker may not answer and still be there; 0: as long as four beats take.
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

// Broker is a connection to a server.
type Broker struct {
	ConnectOptions
	Conn   *nats.Conn
	server string       // its address, to show
	since  atomic.Int64 // when the connection was lost, in nanoseconds; 0: it is there
}

// Connect connects to a server. name is what it shows in the server's lists.
func Connect(l Login, name string, o ConnectOptions) (*Broker, error) {
	options, err := l.options()
	if err != nil {
		return nil, err
	}
	o.Beat = cmp.Or(o.Beat, usualBeat)
	o.Gone = cmp.Or(o.Gone, missedBeats*o.Beat)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	b := &Broker{ConnectOptions: o, server: l.shown()}
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
	if cause == nil || !b.since.CompareAndSwap(0, time.Now().UnixNano()) { // it was closed
		return
	}
	until := "until it is there again"
	if b.Limit > 0 {
		until = fmt.Sprintf("for %s at most", b.Limit)
	}
	b.Say(fmt.Sprintf("the connection to %s is lost (%v); it is tried again %s", b.server, cause, until))
}

func (b *Broker) reconnected(*nats.Conn) {
	b.Say(fmt.Sprintf("the connection to %s is there again after %s", b.server, b.away().Round(100*time.Millisecond)))
	b.since.Store(0)
}

// away is for how long there has been no connection; 0: there is.
func (b *Broker) away() time.Duration {
	if since := b.since.Load(); since > 0 {
		return time.Since(time.Unix(0, since))
	}
	return 0
}

func (b *Broker) up() bool { return b.away() == 0 }

// ask sends a request and waits for its answer, once and for so long.
func (b *Broker) ask(ctx context.Context, subject string, data []byte, wait time.Duration) (*nats.Msg, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return b.Conn.RequestWithContext(limited, subject, data)
}

// Look gathers what workers say of themselves, by their names, until none has answered for a while.
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
		if late != nil || msg.Header.Get("Status") != "" { // nobody listens
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

// How long to wait for the first worker's answer, and for one more; and how many workers are looked at.
const (
	firstAnswer = time.Second
	nextAnswer  = 200 * time.Millisecond
	mostListed  = 8 * device.MostWorkers
)

const whoSubject = "autotune.who" // all workers answer it

// WorkerSubject is where a worker gets requests.
func WorkerSubject(worker string) string { return "autotune.worker." + worker }

func (b *Broker) Close() { b.Conn.Close() }

// options are the connection's, once what they need is known to be there.
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
	if l.CA == "" && l.Cert == "" && l.Key == "" {
		return options, l.checkPlain()
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if l.CA != "" {
		text, err := os.ReadFile(l.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", l.CA)
		}
	}
	if l.Cert != "" || l.Key != "" {
		pair, err := tls.LoadX509KeyPair(l.Cert, l.Key)
		if err != nil {
			return nil, fmt.Errorf("a certificate needs two files, its own and its key's: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return append(options, nats.Secure(c)), nil
}

// checkPlain refuses to send a password over a network where all can read it, unless
// the server's address asks for TLS.
func (l Login) checkPlain() error {
	for _, one := range strings.Split(l.URL, ",") {
		u, err := url.Parse(one)
		if err != nil || u.Host == "" {
			return fmt.Errorf("%q is no server's address; want nats://HOST:4222 or tls://HOST:4222", shown(one))
		}
		plain := u.Scheme != "tls" && u.Scheme != "wss"
		for _, host := range plainHosts {
			plain = plain && u.Hostname() != host
		}
		if plain && u.User != nil {
			return fmt.Errorf("%s would get its password unencrypted; use tls://, or --nats-ca FILE", shown(one))
		}
	}
	return nil
}

// private refuses a secret that others on this machine can read.
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

// shown is an address without a password.
func (l Login) shown() string {
	all := lists.Of(strings.Split(l.URL, ","), shown)
	return strings.Join(all, ",")
}

func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	return u.Redacted()
}
