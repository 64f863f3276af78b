package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// embeddedMemory bounds nothing: each stream has a bound. The server reserves what its
// streams may hold, and for a moment as often as several ask for one at once.
const embeddedMemory = 1 << 50

// Embedded is a server within this process, which nobody outside of it can reach: it
// listens nowhere. All that it keeps is in memory.
type Embedded struct {
	server *server.Server
	dir    string
}

// Embed starts one.
func Embed() (*Embedded, error) {
	dir, err := os.MkdirTemp("", "autotune-nats-")
	if err != nil {
		return nil, fmt.Errorf("the server within: %w", err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "autotune", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
		JetStream: true, JetStreamMaxMemory: embeddedMemory, JetStreamMaxStore: 1 << 20, StoreDir: dir, MaxPayload: 1 << 20,
	})
	if err == nil {
		s.Start()
		if !s.ReadyForConnections(10 * time.Second) {
			err = errors.New("it does not come up")
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server within: %w", err), os.RemoveAll(dir))
	}
	return &Embedded{s, dir}, nil
}

// Connect connects to it.
func (e *Embedded) Connect(ctx context.Context, name string, o Options) (*Broker, error) {
	return connect(ctx, nats.DefaultURL, name, o, jetstream.MemoryStorage, nats.InProcessServer(e.server))
}

// Close ends it and forgets all.
func (e *Embedded) Close() error {
	e.server.Shutdown()
	e.server.WaitForShutdown()
	return os.RemoveAll(e.dir)
}
