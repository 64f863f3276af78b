package pool

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/tuner/device"
	"autotune/tuner/device/pool/broker"
	"autotune/tuner/device/pool/wire"
)

// members are the workers that there are, as far as they give signs of life.
type members struct {
	model   wire.Beat // of the worker that all must be like
	most    time.Duration
	say     func(string)
	conn    *nats.Conn
	passing *nats.Subscription

	mu    sync.Mutex
	all   map[string]seen
	told  map[string]string // what was said of a worker last
	blind time.Time         // when there was last no connection
	present
}

// seen is a worker's last sign of life, and when it came.
type seen struct {
	wire.Beat
	at time.Time
}

// Look lists the workers at a server, by name, as they last said.
func Look(ctx context.Context, b *broker.Broker) ([]wire.Beat, error) {
	keys, err := b.Workers.ListKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	var all []wire.Beat
	for key := range keys.Keys() {
		entry, err := b.Workers.Get(ctx, key)
		if err != nil {
			continue // it has just gone
		}
		if beat, err := wire.Decode[wire.Beat](entry.Value()); err == nil && beat.Worker == key && beat.State != wire.Left {
			all = append(all, beat)
		}
	}
	slices.SortFunc(all, func(a, b wire.Beat) int { return strings.Compare(a.Worker, b.Worker) })
	return all, nil
}

// watch waits for the first worker, and then keeps looking.
func watch(ctx context.Context, b *broker.Broker, o Options) (*members, error) {
	m := &members{most: b.Gone, say: o.Say, conn: b.Conn, all: map[string]seen{}, told: map[string]string{}}
	// What is put into the bucket passes by here, also when the connection was made anew.
	var err error
	if m.passing, err = b.Conn.Subscribe("$KV."+wire.Workers+".>", func(msg *nats.Msg) { m.take(msg.Data) }); err != nil {
		return nil, fmt.Errorf("watch the workers: %w", err)
	}
	there, err := Look(ctx, b)
	if err != nil {
		return nil, errors.Join(err, m.passing.Unsubscribe())
	}
	for _, beat := range there {
		m.meet(beat)
	}
	late := time.After(o.Wait)
	for m.choose(o.GPU); len(m.names()) == 0 || m.count() < o.All; m.choose(o.GPU) {
		if 0 < o.All && o.All <= m.count() { // all are here, and none takes jobs
			return nil, errors.Join(m.none(o.GPU), m.passing.Unsubscribe())
		}
		select {
		case <-time.After(lookEvery / 10):
		case <-late:
			return nil, errors.Join(m.none(o.GPU), m.passing.Unsubscribe())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), m.passing.Unsubscribe())
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.all)) {
		m.tell(m.all[name].Beat)
	}
	return m, nil
}

// none says why there is no worker to use.
func (m *members) none(gpu string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var others []string
	for _, name := range slices.Sorted(maps.Keys(m.all)) {
		s := m.all[name]
		about := name + " has " + s.Device.Name
		if s.State != wire.Ready {
			about += ", " + string(s.State) + ": " + s.Why
		}
		others = append(others, about)
	}
	text := "there is no worker at the server; start one with `autotune worker --nats URL`"
	if len(others) > 0 {
		text = "no worker can be used: " + strings.Join(others, "; ")
		if gpu != "" {
			text = fmt.Sprintf("no worker with %q can be used: %s", gpu, strings.Join(others, "; "))
		}
	}
	return fmt.Errorf("%s: %w", text, device.ErrNone)
}

// choose finds the first worker, by name, that may be used: all others must be like it.
func (m *members) choose(gpu string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.model.Group != "" {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.all)) {
		s := m.all[name]
		if s.State == wire.Ready && strings.Contains(strings.ToLower(s.Device.Name), strings.ToLower(gpu)) {
			m.model, m.present.at = s.Beat, time.Time{}
			return
		}
	}
}

// take takes note of a sign of life, if it is one.
func (m *members) take(data []byte) {
	if beat, err := wire.Decode[wire.Beat](data); err == nil {
		m.meet(beat)
	}
}

func (m *members) meet(beat wire.Beat) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all[beat.Worker].State != beat.State {
		m.present.at = time.Time{}
	}
	m.all[beat.Worker] = seen{beat, time.Now()}
	if m.model.Group != "" {
		m.tell(beat)
	}
}

// tell says of a worker why it is left out, once.
func (m *members) tell(b wire.Beat) {
	text := ""
	switch {
	case b.Group != m.model.Group && b.State != wire.Left:
		text = fmt.Sprintf("worker %s is left out: %s", b.Worker, unlike(b, m.model))
	case b.Group != m.model.Group:
	case b.State == wire.Aside:
		text = fmt.Sprintf("worker %s is set aside: %s", b.Worker, b.Why)
	case b.State == wire.Left && b.Why != "":
		text = fmt.Sprintf("worker %s has ended: %s", b.Worker, b.Why)
	case m.told[b.Worker] != "":
		text = fmt.Sprintf("worker %s takes jobs again", b.Worker)
	}
	if text != "" && text != m.told[b.Worker] {
		m.say(text)
		m.told[b.Worker] = text
	}
}

// unlike says in what a worker differs from the model.
func unlike(b, model wire.Beat) string {
	for _, one := range []struct{ what, own, want string }{
		{"it is", b.Device.Name, model.Device.Name}, {"its driver is", b.Device.Driver, model.Device.Driver},
		{"its compiler is", b.Device.Compiler, model.Device.Compiler}, {"it compiles for", b.Arch, model.Arch},
	} {
		if one.own != one.want {
			return fmt.Sprintf("%s %s, and not %s", one.what, one.own, one.want)
		}
	}
	return "its GPU has other limits"
}

// present are the workers of the model whose signs of life still come.
type present struct {
	at        time.Time
	there     map[string]bool
	names     []string // of those that take jobs, in order
	compilers int      // compilations that are worth having at once
}

// presentFor is how long what was found of the workers is taken for true: all that waits
// for one of hundreds asks.
const presentFor = 20 * time.Millisecond

// now looks who is there. While there is no connection, no sign of life can come; when it is
// back they have as long as ever.
func (m *members) now() present {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.present.at) < presentFor {
		return m.present
	}
	if !m.conn.IsConnected() {
		m.blind = time.Now()
	}
	p := present{at: time.Now(), there: map[string]bool{}}
	for name, s := range m.all {
		if s.Group != m.model.Group || s.State == wire.Left || min(time.Since(s.at), time.Since(m.blind)) >= m.most {
			continue
		}
		p.there[name] = true
		p.compilers += s.Compilers
		if s.State == wire.Ready {
			p.names = append(p.names, name)
		}
	}
	slices.Sort(p.names)
	p.names = p.names[:min(len(p.names), device.MostWorkers)]
	m.present = p
	return p
}

// count is how many have given a sign of life, whatever they are.
func (m *members) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all)
}

// names are of those that take jobs.
func (m *members) names() []string { return slices.Clone(m.now().names) }

// compilers is how many compilations are worth having at once.
func (m *members) compilers() int { return m.now().compilers }

// has tells whether a worker is there, be it set aside.
func (m *members) has(name string) bool { return m.now().there[name] }

// lastWords says why the workers that were there are not, as far as they said so.
func (m *members) lastWords() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.all)) {
		if s := m.all[name]; s.Group == m.model.Group && s.State != wire.Ready && s.Why != "" {
			return fmt.Sprintf("; worker %s: %s", name, s.Why)
		}
	}
	return ""
}

func (m *members) close() { _ = m.passing.Unsubscribe() }
