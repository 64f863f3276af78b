package remote_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

func job() remote.Request {
	return remote.Request{
		ID: "S1.7", Kind: remote.Evaluate, Problem: "S1.1", Digest: strings.Repeat("ab12", 16), Inputs: device.Inputs{Distribution: "uniform01", Seed: 1}, Best: 0.5,
		Configuration: space.Configuration{Template: "plain", Values: space.Values{{Name: "a", Value: expr.Int(4)}}},
	}
}

func answer() remote.Response {
	a := remote.Response{ID: "S1.7", Kind: remote.Evaluate, Worker: "node-1", Outcome: trial.Outcome{Status: trial.OK, Measured: trial.Measured{MaxAbsError: 1e-6}}}
	a.Outcome.SetSamples([]float64{1, 2, 3}, 4)
	return a
}

func opening() remote.Request {
	r := job()
	r.Kind, r.Digest, r.Configuration, r.Best = remote.Open, "", space.Configuration{}, 0
	r.Opening = &remote.Opening{
		Bundle: []byte("PK"), Limits: operator.Limits{Arch: 90}, Protocol: device.DefaultProtocol(),
		ProblemRecord: operator.ProblemRecord{
			Shape: []int64{1, 2}, Parameters: operator.Parameters{{Name: "kernel", Value: "3"}}, Math: "fp32", Text: "x 1x2 kernel=3",
		},
	}
	return r
}

func worker() remote.Worker {
	return remote.Worker{Worker: "node-1", Device: device.Info{Name: "Fake 100"}, Compilers: 4, Started: time.Unix(1, 0).UTC()}
}

// A message that is written and read back is unchanged.
func TestRoundTrip(t *testing.T) {
	same(t, job(), remote.Decode[remote.Request])
	same(t, answer(), remote.Decode[remote.Response])
	same(t, opening(), remote.Decode[remote.Request])
	same(t, worker(), remote.Decode[remote.Worker])
}

func same[T any](t *testing.T, m T, decode func([]byte) (T, error)) {
	t.Helper()
	data, err := remote.Encode(m)
	must.OK(t, err)
	again, err := decode(data)
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("%+v came back as %+v, %v", m, again, err)
	}
}

// Decode refuses messages with impossible values, and its error names the field.
func TestRefusals(t *testing.T) {
	asked := func(change func(*remote.Request)) error { return refuse(job(), remote.Decode[remote.Request], change) }
	opened := func(change func(*remote.Opening)) error {
		return refuse(opening(), remote.Decode[remote.Request], func(r *remote.Request) { change(r.Opening) })
	}
	answered := func(change func(*remote.Response)) error {
		return refuse(answer(), remote.Decode[remote.Response], change)
	}
	offered := func(change func(*remote.Worker)) error { return refuse(worker(), remote.Decode[remote.Worker], change) }
	decoded := func(text string) error {
		_, err := remote.Decode[remote.Worker]([]byte(text))
		return err
	}
	for want, err := range map[string]error{
		"kind is":         asked(func(j *remote.Request) { j.Kind = "format" }),
		"id is":           asked(func(j *remote.Request) { j.ID = "a.b" }),
		"problem is":      asked(func(j *remote.Request) { j.Problem = "other.>" }),
		"best is":         asked(func(j *remote.Request) { j.Best = -1 }),
		"launches is":     asked(func(j *remote.Request) { j.Check.Launches = 1 << 30 }),
		"duration is":     asked(func(j *remote.Request) { j.Limit = time.Hour }),
		"digest is":       asked(func(j *remote.Request) { j.Digest = "../x" }),
		"worker is":       answered(func(a *remote.Response) { a.Worker = "" }),
		"status is":       answered(func(a *remote.Response) { a.Outcome.Status = "fine" }),
		"no time":         answered(func(a *remote.Response) { a.Outcome.SamplesMS = []float64{1, -1} }),
		"samples is":      answered(func(a *remote.Response) { a.Outcome.SamplesMS = nil }),
		"fault is":        answered(func(a *remote.Response) { a.Fault = &remote.Fault{Kind: "x"} }),
		"shape is":        opened(func(o *remote.Opening) { o.Shape = []int64{-1} }),
		"protocol is":     opened(func(o *remote.Opening) { o.Protocol.Samples = 1 << 20 }),
		"l2 is":           opened(func(o *remote.Opening) { o.Protocol.Conditions.L2 = "lukewarm" }),
		"device is":       offered(func(w *remote.Worker) { w.Device.Name = "" }),
		"compilers is":    offered(func(w *remote.Worker) { w.Compilers = -1 }),
		"after top-level": decoded(`{"worker": "a", "device": {"name": "b"}} {}`),
		"are the most":    decoded(`"` + strings.Repeat("x", remote.MessageBytes) + `"`),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want words about %q", err, want)
		}
	}
}

func refuse[T any](m T, decode func([]byte) (T, error), change func(*T)) error {
	change(&m)
	data, _ := json.Marshal(m)
	_, err := decode(data)
	return err
}

// The time of a response is computed from its samples, whatever time the message contains.
func TestTimesAreTheSamples(t *testing.T) {
	a := answer()
	a.Outcome.Time.Median = 1e-3
	data, err := remote.Encode(a)
	must.OK(t, err)
	if again, err := remote.Decode[remote.Response](data); err != nil || again.Outcome.Time.Median != 2 {
		t.Errorf("the median of 1, 2, 3 is %v, %v", again.Outcome.Time.Median, err)
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{"node7.cluster": "node7-cluster", "a b/c": "a-b-c", strings.Repeat("x", 99): strings.Repeat("x", 64)} {
		if got := remote.Name(text); got != want || !remote.GoodName(got) {
			t.Errorf("Name(%q) = %q, want %q", text, got, want)
		}
	}
}

// Every message that Decode accepts can be written and read again.
func FuzzDecode(f *testing.F) {
	open, compiled, refused := answer(), answer(), answer()
	open.Kind, open.Outcome, open.Ceilings = remote.Open, trial.Outcome{}, device.Ceilings{ReferenceMS: 1}
	compiled.Kind, compiled.Outcome, compiled.Compiled = remote.Compile, trial.Outcome{}, &compile.Binary{Log: "a warning"}
	refused.Fault = &remote.Fault{Kind: remote.Refused, Message: "no", File: "x.cu", Line: 3}
	for _, m := range []any{job(), answer(), open, compiled, refused, opening(), worker()} {
		data, err := remote.Encode(m)
		must.OK(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = whole(t, data, remote.Decode[remote.Request])
		if a, err := whole(t, data, remote.Decode[remote.Response]); err == nil && a.Kind == remote.Evaluate && a.Fault == nil && a.Outcome.Status == trial.OK && a.Outcome.Time.Median < 0 {
			t.Error("a time that cannot be was read")
		}
		_, _ = whole(t, data, remote.Decode[remote.Worker])
	})
}

func whole[T any](t *testing.T, data []byte, decode func([]byte) (T, error)) (T, error) {
	m, err := decode(data)
	if err != nil {
		return m, err
	}
	text, err := remote.Encode(m)
	if err != nil && strings.Contains(err.Error(), "are the most") {
		return m, nil
	}
	if err == nil {
		_, err = decode(text)
	}
	if err != nil {
		t.Errorf("what was read of %q cannot be written and read again: %v", data, err)
	}
	return m, nil
}
