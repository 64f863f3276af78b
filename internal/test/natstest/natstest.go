// Package natstest starts NATS servers for tests.
package natstest

import (
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server starts a NATS server in this process, which stops at the test's end, and returns its address.
func Server(t testing.TB) (address string) {
	t.Helper()
	address, _ = Start(t, "")
	return address
}

// Start is like Server but also returns a function that stops the server. at is an address to reuse, or "" for any.
func Start(t testing.TB, at string) (address string, stop func()) {
	t.Helper()
	o := server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true}
	if u, err := url.Parse(at); err == nil && u.Port() != "" {
		o.Port, _ = strconv.Atoi(u.Port())
	}
	s, err := server.NewServer(&o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	stop = func() {
		s.Shutdown()
		s.WaitForShutdown()
	}
	t.Cleanup(stop)
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server does not come up")
	}
	return s.ClientURL(), stop
}
