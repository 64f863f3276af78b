package wire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/device"
	"autotune/tuner/device/pool/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

func job() wire.Job {
	return wire.Job{
		Search: "S1", ID: 7, Kind: wire.Evaluate, Problem: "S1.1", Digest: "ab12", Inputs: device.Inputs{Distribution: "uniform01", Seed: 1}, Best: 0.5,
		Configuration: space.Configuration{Template: "plain", Values: space.Values{{Name: "a", Value: expr.Int(4)}}},
	}
}

func answer() wire.Answer {
	a := wire.Answer{ID: 7, Worker: "node-1", ControlMS: 0.1, Outcome: trial.Outcome{Status: trial.OK, Measured: trial.Measured{MaxAbsError: 1e-6}}}
	a.Outcome.SetSamples([]float64{1, 2, 3}, 4)
	return a
}

func problem() wire.Problem {
	proto := device.DefaultProtocol()
	return wire.Problem{
		Bundle: wire.ObjectName(wire.BundleKind, nil), Shape: []int64{1, 2}, Settings: operator.Parameters{{Name: "kernel", Value: "3"}},
		Math: "fp32", Limits: operator.Limits{Arch: 90}, Protocol: proto, Text: "x 1x2 kernel=3",
	}
}

func beat() wire.Beat {
	return wire.Beat{Worker: "node-1", Group: "0a", State: wire.Ready, Compilers: 4, Control: wire.Control{FirstMS: 1, LastMS: 1, At: time.Unix(1, 0).UTC()}}
}

// What is written is read as it was.
func TestRoundTrip(t *testing.T) {
	same(t, job(), wire.Decode[wire.Job])
	same(t, answer(), wire.Decode[wire.Answer])
	same(t, problem(), wire.Decode[wire.Problem])
	same(t, beat(), wire.Decode[wire.Beat])
}

func same[T any](t *testing.T, m T, decode func([]byte) (T, error)) {
	t.Helper()
	data, err := wire.Encode(m)
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
		"kind is":     refuse(job(), wire.Decode[wire.Job], func(j *wire.Job) { j.Kind = "format" }),
		"search is":   refuse(job(), wire.Decode[wire.Job], func(j *wire.Job) { j.Search = "a.b" }),
		"problem is":  refuse(job(), wire.Decode[wire.Job], func(j *wire.Job) { j.Problem = "other.1" }),
		"best is":     refuse(job(), wire.Decode[wire.Job], func(j *wire.Job) { j.Best = -1 }),
		"launches is": refuse(job(), wire.Decode[wire.Job], func(j *wire.Job) { j.Check.Launches = 1 << 30 }),
		"duration is": refuse(job(), wire.Decode[wire.Job], func(j *wire.Job) { j.Limit = time.Hour }),
		"digest is":   refuse(job(), wire.Decode[wire.Job], func(j *wire.Job) { j.Digest = "../x" }),
		"worker is":   refuse(answer(), wire.Decode[wire.Answer], func(a *wire.Answer) { a.Worker = "" }),
		"status is":   refuse(answer(), wire.Decode[wire.Answer], func(a *wire.Answer) { a.Outcome.Status = "fine" }),
		"samples is":  refuse(answer(), wire.Decode[wire.Answer], func(a *wire.Answer) { a.Outcome.SamplesMS = []float64{1, -1} }),
		"fault is":    refuse(answer(), wire.Decode[wire.Answer], func(a *wire.Answer) { a.Fault = &wire.Fault{Kind: "x"} }),
		"bundle is":   refuse(problem(), wire.Decode[wire.Problem], func(p *wire.Problem) { p.Bundle = "../../etc/passwd" }),
		"shape is":    refuse(problem(), wire.Decode[wire.Problem], func(p *wire.Problem) { p.Shape = []int64{-1} }),
		"protocol is": refuse(problem(), wire.Decode[wire.Problem], func(p *wire.Problem) { p.Protocol.Samples = 1 << 20 }),
		"l2 is":       refuse(problem(), wire.Decode[wire.Problem], func(p *wire.Problem) { p.Protocol.Conditions.L2 = "lukewarm" }),
		"state is":    refuse(beat(), wire.Decode[wire.Beat], func(b *wire.Beat) { b.State = "asleep" }),
		"group is":    refuse(beat(), wire.Decode[wire.Beat], func(b *wire.Beat) { b.Group = "a.>" }),
		"after its end": func() error {
			_, err := wire.Decode[wire.Beat]([]byte(`{"worker": "a", "group": "b", "state": "ready"} {}`))
			return err
		}(),
		"are the most": func() error {
			_, err := wire.Decode[wire.Beat]([]byte(`"` + strings.Repeat("x", wire.MessageBytes) + `"`))
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
	data, err := wire.Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := wire.Decode[wire.Answer](data); err != nil || again.Outcome.Time.Median != 2 {
		t.Errorf("the median of 1, 2, 3 is %v, %v", again.Outcome.Time.Median, err)
	}
}

func TestNames(t *testing.T) {
	for text, want := range map[string]string{"node7.cluster": "node7-cluster", "a b/c": "a-b-c", strings.Repeat("x", 99): strings.Repeat("x", 64)} {
		if got := wire.Name(text); got != want || !wire.GoodName(got) {
			t.Errorf("Name(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range []any{job(), answer(), problem(), beat()} {
		data, err := wire.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if j, err := wire.Decode[wire.Job](data); err == nil && !strings.HasPrefix(j.Problem, j.Search+".") {
			t.Error("a job of another search's problem was read")
		}
		if a, err := wire.Decode[wire.Answer](data); err == nil {
			if _, err := wire.Encode(a); err != nil && !strings.Contains(err.Error(), "are the most") {
				t.Errorf("what was read cannot be written: %v", err)
			}
		}
		_, _ = wire.Decode[wire.Problem](data)
		_, _ = wire.Decode[wire.Beat](data)
	})
}
