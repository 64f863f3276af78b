package store

import (
	"encoding/json"
	"errors"
	"testing"

	"autotune/device/trial"
	"autotune/space"
	"autotune/space/expr"
)

// What a head tells is what the whole trial tells, also where texts look like the marks between its parts.
func TestHead(t *testing.T) {
	for _, change := range []func(*Entry){
		func(*Entry) {},
		func(e *Entry) { e.Trial.Macros = map[string]string{"A": `,"launch":`} },
		func(e *Entry) { e.Trial.Template, e.Provenance.Device = `a","launch":`, `"trial":{"template":` },
		func(e *Entry) {
			e.Trial.Values = space.Values{{Name: `,"macros":`, Value: expr.String(`"trial":{"template":"x"`)}}
		},
		func(e *Entry) { e.Trial.Values = nil },
	} {
		e := sample(3)
		change(&e)
		raw, err := encode(e)
		must(t, err)
		h := headOf([]byte("key"), raw)
		var c space.Configuration
		if err := json.Unmarshal([]byte(h.Configuration), &c); err != nil || c.Key() != e.Trial.Configuration.Key() || h.KernelDigest != "kernel 3" || h.Key != "key" {
			t.Errorf("%+v, %v", h, err)
		}
	}
	e := sample(1)
	e.Provenance.KernelDigest = `a"b` // escaped: it is told by the whole trial alone
	raw, err := encode(e)
	if h := headOf(nil, raw); err != nil || h != (Head{}) {
		t.Errorf("%+v, %v", h, err)
	}
}

func FuzzHead(f *testing.F) {
	raw, err := encode(sample(1))
	must(f, err)
	f.Add(raw)
	f.Add([]byte(`0000{"provenance":{"kernel_digest":"a"},"trial":{"template":"x","launch":`))
	f.Add([]byte("12"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		h := headOf(nil, raw)
		var e Entry
		var c space.Configuration
		if decode(raw, &e) == nil && h.Configuration != "" && json.Unmarshal([]byte(h.Configuration), &c) == nil && e.Provenance.KernelDigest != h.KernelDigest {
			t.Errorf("the head tells %q, the trial %q", h.KernelDigest, e.Provenance.KernelDigest)
		}
	})
}

func TestKeys(t *testing.T) {
	p := sample(1).Provenance
	keyOf := p.Keys()
	for _, digest := range []string{"", "0123456789abcdef", "kernel 1", `a"b`, "ü"} {
		if p.KernelDigest = digest; keyOf(digest) != p.Key() {
			t.Errorf("%q has another key", digest)
		}
	}
}

// A trial or winner with a time that no launch takes is refused, whoever reads it.
func TestTimesThatCannotBe(t *testing.T) {
	s := open(t, newPath(t))
	fill(t, s, pool, 1)
	bad := sample(2)
	bad.Trial.Time.Median = -1
	must(t, s.PutTrials(pool, []Entry{bad}))
	const want = "a trial of max_pool2d 1x2x20x20 kernel=4x4 on NVIDIA H100 (cuda): -1 is no time of a launch: want milliseconds from 1e-06 to 1e+09"
	var damaged *DamagedError
	if _, err := s.Trials(pool, nil); !errors.As(err, &damaged) || damaged.Detail != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if issues, err := s.Check(t.Context()); err != nil || len(issues) != 1 {
		t.Errorf("check gives %v, %v", issues, err)
	}
	failed := sample(3) // has no times
	failed.Trial.Status, failed.Trial.Time = trial.WrongResult, trial.Timing{}
	other := pool
	other.Problem = "max_pool2d 1x2x20x21 kernel=4x4"
	if err := s.PutTrials(other, []Entry{failed}); err != nil || len(mustTrials(t, s, other)) != 1 {
		t.Error(err)
	}
	for name, w := range map[string]Winner{
		"its own time":   {TimeMS: -1, Result: json.RawMessage(`{}`)},
		"that of a copy": {TimeMS: 1, Result: json.RawMessage(`{"winner": {"status": "ok", "time_ms": {"median": -1}}}`)},
		"a sample":       {TimeMS: 1, Result: json.RawMessage(`{"winner": {"status": "ok", "time_ms": {"median": 1}, "samples_ms": [1, 0]}}`)},
	} {
		raw, err := encode(w)
		must(t, err)
		if _, err := decoded[Winner](problem{id: other}, winnerKey, raw); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
