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
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

func job() remote.Request {
	return remote.Request{
		Search: "S1", ID: 7, Kind: remote.Evaluate, Problem: "S1.1", Digest: strings.Repeat("ab12", 16), Inputs: device.Inputs{Distribution: "uniform01", Seed: 1}, Best: 0.5,
		Configuration: space.Configuration{Template: "plain", Values: space.Values{{Name: "a", Value: expr.Int(4)}}},
	}
}

func answer() remote.Response {
	a := remote.Response{ID: 7, Kind: remote.Evaluate, Worker: "node-1", ControlMS: 0.1, Outcome: trial.Outcome{Status: trial.OK, Measured: trial.Measured{MaxAbsError: 1e-6}}}
	a.Outcome.SetSamples([]float64{1, 2, 3}, 4)
	return a
}

func problem() remote.Problem {
	proto := device.DefaultProtocol()
	return remote.Problem{
		Bundle: "bundle-" + strings.Repeat("0", 64), Limits: operator.Limits{Arch: 90}, Protocol: proto,
		ProblemRecord: operator.ProblemRecord{Shape: []int64{1, 2}, Parameters: operator.Parameters{{Name: "kernel", Value: "3"}}, Math: "fp32", Text: "x 1x2 kernel=3"},
	}
}

func beat() remote.Beat {
	return remote.Beat{Worker: "node-1", Group: "0a", Device: device.Info{Name: "Fake 100"}, State: remote.Ready, Compilers: 4, Control: remote.Control{FirstMS: 1, LastMS: 1, At: time.Unix(1, 0).UTC()}}
}

func fetch() remote.Fetch {
	return remote.Fetch{Object: "data-" + strings.Repeat("0", 64), Offset: remote.ChunkBytes}
}

// A message is read as it was written.
func TestRoundTrip(t *testing.T) {
	same(t, job(), remote.Decode[remote.Request])
	same(t, answer(), remote.Decode[remote.Response])
	same(t, problem(), remote.Decode[remote.Problem])
	same(t, beat(), remote.Decode[remote.Beat])
	same(t, fetch(), remote.Decode[remote.Fetch])
}

func same[T any](t *testing.T, m T, decode func([]byte) (T, error)) {
	t.Helper()
	data, err := remote.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decode(data)
	if err != nil || !reflect.DeepEqual(again, m) {
		t.Errorf("%+v came back as %+v, %v", m, again, err)
	}
}

// Messages that ask for or tell what cannot be are refused, with what is wrong.
func TestRefusals(t *testing.T) {
	for want, err := range map[string]error{
		"kind is":     refuse(job(), remote.Decode[remote.Request], func(j *remote.Request) { j.Kind = "format" }),
		"search is":   refuse(job(), remote.Decode[remote.Request], func(j *remote.Request) { j.Search = "a.b" }),
		"problem is":  refuse(job(), remote.Decode[remote.Request], func(j *remote.Request) { j.Problem = "other.1" }),
		"best is":     refuse(job(), remote.Decode[remote.Request], func(j *remote.Request) { j.Best = -1 }),
		"launches is": refuse(job(), remote.Decode[remote.Request], func(j *remote.Request) { j.Check.Launches = 1 << 30 }),
		"duration is": refuse(job(), remote.Decode[remote.Request], func(j *remote.Request) { j.Limit = time.Hour }),
		"digest is":   refuse(job(), remote.Decode[remote.Request], func(j *remote.Request) { j.Digest = "../x" }),
		"worker is":   refuse(answer(), remote.Decode[remote.Response], func(a *remote.Response) { a.Worker = "" }),
		"status is":   refuse(answer(), remote.Decode[remote.Response], func(a *remote.Response) { a.Outcome.Status = "fine" }),
		"samples is":  refuse(answer(), remote.Decode[remote.Response], func(a *remote.Response) { a.Outcome.SamplesMS = []float64{1, -1} }),
		"fault is":    refuse(answer(), remote.Decode[remote.Response], func(a *remote.Response) { a.Fault = &remote.Fault{Kind: "x"} }),
		"bundle is":   refuse(problem(), remote.Decode[remote.Problem], func(p *remote.Problem) { p.Bundle = "../../etc/passwd" }),
		"shape is":    refuse(problem(), remote.Decode[remote.Problem], func(p *remote.Problem) { p.Shape = []int64{-1} }),
		"protocol is": refuse(problem(), remote.Decode[remote.Problem], func(p *remote.Problem) { p.Protocol.Samples = 1 << 20 }),
		"l2 is":       refuse(problem(), remote.Decode[remote.Problem], func(p *remote.Problem) { p.Protocol.Conditions.L2 = "lukewarm" }),
		"state is":    refuse(beat(), remote.Decode[remote.Beat], func(b *remote.Beat) { b.State = "asleep" }),
		"device is":   refuse(beat(), remote.Decode[remote.Beat], func(b *remote.Beat) { b.Device.Name = "" }),
		"object is":   refuse(fetch(), remote.Decode[remote.Fetch], func(f *remote.Fetch) { f.Object = "../x" }),
		"offset is":   refuse(fetch(), remote.Decode[remote.Fetch], func(f *remote.Fetch) { f.Offset = -1 }),
		"least one":   refuse(answer(), remote.Decode[remote.Response], func(a *remote.Response) { a.Outcome.SamplesMS = nil }),
		"group is":    refuse(beat(), remote.Decode[remote.Beat], func(b *remote.Beat) { b.Group = "a.>" }),
		"after its end": func() error {
			_, err := remote.Decode[remote.Beat]([]byte(`{"worker": "a", "group": "b", "state": "ready"} {}`))
			return err
		}(),
		"are the most": func() error {
			_, err := remote.Decode[remote.Beat]([]byte(`"` + strings.Repeat("x", remote.MessageBytes) + `"`))
			return err
		}(),
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

// The times of an answer are those of its samples, whatever it says of them.
func TestTimesAreTheSamples(t *testing.T) {
	a := answer()
	a.Outcome.Time.Median = 1e-3
	data, err := remote.Encode(a)
	if err != nil {
		t.Fatal(err)
	}
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

// A message that is read is whole: it can be written, and read again.
func FuzzDecode(f *testing.F) {
	open, compiled, refused := answer(), answer(), answer()
	open.Kind, open.Outcome, open.Ceilings = remote.Open, trial.Outcome{}, device.Ceilings{ReferenceMS: 1}
	compiled.Kind, compiled.Outcome, compiled.Compiled = remote.Compile, trial.Outcome{}, &compile.Binary{Log: "a warning"}
	refused.Fault = &remote.Fault{Kind: remote.Refused, Message: "no", File: "x.cu", Line: 3}
	for _, m := range []any{job(), answer(), open, compiled, refused, problem(), beat(), fetch()} {
		data, err := remote.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if q, err := whole(t, data, remote.Decode[remote.Request]); err == nil && q.Kind != remote.Describe && !strings.HasPrefix(q.Problem, q.Search+".") {
			t.Error("a job of another search's problem was read")
		}
		if a, err := whole(t, data, remote.Decode[remote.Response]); err == nil && a.Kind == remote.Evaluate && a.Fault == nil && a.Outcome.Status == trial.OK && a.Outcome.Time.Median < 0 {
			t.Error("a time that cannot be was read")
		}
		_, _ = whole(t, data, remote.Decode[remote.Problem])
		_, _ = whole(t, data, remote.Decode[remote.Beat])
		_, _ = whole(t, data, remote.Decode[remote.Fetch])
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
