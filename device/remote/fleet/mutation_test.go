package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device/remote"
	"autotune/device/remote/fleet"
	"autotune/device/trial"
	"autotune/space"
	"autotune/tuner"
)

// heard are all messages of a search of the toy, by subject.
func heard(p *place) (all []*nats.Msg) {
	d, b := p.pool(1), p.connect("listener")
	defer b.Close()
	messages := make(chan *nats.Msg, 10000)
	listening, err := b.Conn.ChanSubscribe("autotune.>", messages)
	if err == nil {
		err = b.Conn.Flush()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := tuner.Search(p.t.Context(), toyProblem(p.t), d, tuner.Options{Strategy: "random", Budget: 10}); err != nil {
		p.t.Fatal(err)
	}
	_ = listening.Unsubscribe() // the connection is closed next
	close(messages)
	for msg := range messages {
		all = append(all, msg)
	}
	return all
}

// mutated is a message with a few bytes, or a value, that are others.
func mutated(data, other []byte, random *rand.Rand) []byte {
	data = bytes.Clone(data)
	if len(data) == 0 || len(other) == 0 {
		return []byte{byte(random.IntN(256))}
	}
	at, end := random.IntN(len(data)), 0
	switch random.IntN(5) {
	case 0:
		data[at] = byte(random.IntN(256))
	case 1:
		data = data[:at]
	case 2:
		end = min(len(data), at+random.IntN(20))
		data = append(data[:at:at], data[end:]...)
	case 3:
		from := random.IntN(len(other))
		data = append(data[:at:at], other[from:min(len(other), from+random.IntN(40))]...)
	default: // a field of another message, or another value
		var own, others map[string]json.RawMessage
		if json.Unmarshal(data, &own) != nil || json.Unmarshal(other, &others) != nil {
			return data[at:]
		}
		values := []string{"null", "-1", "1e308", `""`, `"x"`, "[]", "{}", `"open"`, `"compile"`, `"launch"`, "9223372036854775807"}
		for key := range own {
			if own[key] = json.RawMessage(values[random.IntN(len(values))]); len(others[key]) > 0 && random.IntN(2) == 0 {
				own[key] = others[key]
			}
			break
		}
		data, _ = json.Marshal(own)
	}
	return data
}

// Ten thousand messages that were changed, of all kinds, do not hurt a worker nor a search.
// The worker says a line of them, not thousands.
func TestMutatedMessages(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{})
	messages := heard(p)
	d, b, random := p.pool(1), p.connect("rogue"), rand.New(rand.NewPCG(1, 2))
	for len(p.said) > 0 {
		<-p.said
	}
	for i := range 10000 {
		msg, other := messages[random.IntN(len(messages))], messages[random.IntN(len(messages))]
		subject := msg.Subject
		if subject == fleet.BeatSubject && i%20 > 0 { // else most are signs of life
			subject = fleet.WorkerSubject("a")
		}
		if err := b.Conn.Publish(subject, mutated(msg.Data, other.Data, random)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Conn.Flush(); err != nil {
		t.Fatal(err)
	}
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random"}))
	lines := 0
	for len(p.said) > 0 {
		if text := <-p.said; strings.HasPrefix(text, "a: ") {
			lines++
			if !strings.Contains(text, "messages that make no sense are dropped, as one: ") {
				t.Errorf("said %q", text)
			}
		}
	}
	if lines != 1 {
		t.Errorf("the worker said %d lines", lines)
	}
}

// A panic over a job is the job's: it has crashed, and the worker goes on.
func TestPanicOfAJob(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{evaluate: func(_ context.Context, c space.Configuration) (trial.Outcome, error) {
		if number(c, "a") == 5 && number(c, "b") == 5 {
			panic("index out of range")
		}
		return bowl(c), nil
	}})
	r := search(t, p.pool(1), tuner.Options{Strategy: "random"})
	if r.ByStatus[trial.Crashed] != 1 || r.ByStatus[trial.OK] != 143 {
		t.Errorf("by status: %v", r.ByStatus)
	}
	for _, one := range r.Trials {
		if want := "the worker a met a fault of its own: index out of range"; one.Status == trial.Crashed && one.Message != want {
			t.Errorf("it says %q, want %q", one.Message, want)
		}
	}
}

// FuzzWorker sends any message to a worker, which must go on.
func FuzzWorker(f *testing.F) {
	p := newPlace(f)
	p.worker("a", &fakeGPU{})
	for _, msg := range heard(p) {
		f.Add(msg.Data)
	}
	b := p.connect("rogue")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := b.Conn.Publish(fleet.WorkerSubject("a"), data); err != nil && err != nats.ErrMaxPayload {
			t.Fatal(err)
		}
		question, err := remote.Encode(remote.Request{Kind: remote.Describe, ID: rand.Uint64()})
		if err != nil {
			t.Fatal(err)
		}
		msg, err := b.Ask(context.Background(), fleet.WorkerSubject("a"), question, 5*time.Second)
		if err == nil {
			_, err = remote.Decode[remote.Response](msg.Data)
		}
		if err != nil {
			t.Fatal(fmt.Errorf("the worker after %q: %w", data, err))
		}
	})
}
