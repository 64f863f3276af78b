package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

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
	connectLimit = 10 * time.Second
	pingInterval = 900 * time.Millisecond // two without an answer, and the connection is made anew
)

// Connect connects to a server. name is what it shows in the server's lists.
func Connect(ctx context.Context, l Login, name string, o ConnectOptions) (*Broker, error) {
	options, err := l.options()
	if err != nil {
		return nil, err
	}
	b := newBroker(l.shown(), o)
	options = append(options, nats.Name("autotune "+name), nats.Timeout(connectLimit), nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(b.disconnected), nats.ReconnectHandler(b.reconnected), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
		nats.ReconnectWait(200*time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2))
	if b.Conn, err = nats.Connect(l.URL, options...); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", b.server, ErrServer, err)
	}
	return b, nil
}

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
