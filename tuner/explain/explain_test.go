package explain

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

// tried returns a correct trial of a template with the tunables a, b and c.
func tried(template string, ms float64, values ...int64) trial.Trial {
	t := trial.Trial{Configuration: space.Configuration{Template: template}}
	for i, v := range values {
		t.Values = append(t.Values, space.Value{Name: string(rune('a' + i)), Value: expr.Int(v)})
	}
	t.Status = trial.OK
	t.Time = trial.Timing{Median: ms, CI95: [2]float64{ms * 0.999, ms * 1.001}, Samples: 30}
	return t
}

// The function `alone` finds the same tunable as a comparison of all values does.
func TestAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func() space.Configuration {
		return tried(string(rune('k'+r.IntN(2))), 1, r.Int64N(2), r.Int64N(3), r.Int64N(2)).Configuration
	}
	for range 2000 {
		a, b := draw(), draw()
		if r.IntN(4) == 0 {
			slices.Reverse(b.Values) // the order of values does not matter
		}
		at, ok := alone(a, b)
		if want := a.Template == b.Template && a.Values.Differences(b.Values) == 1; ok != want {
			t.Fatalf("%s beside %s: %v, want %v", a, b, ok, want)
		}
		if ok {
			name := a.Values[at].Name
			x, _ := a.Get(name)
			if y, _ := b.Get(name); x.Equal(y) {
				t.Fatalf("%s beside %s: they differ elsewhere than in %s", a, b, name)
			}
		}
	}
}

func TestSentences(t *testing.T) {
	winner := tried("k", 1, 2, 1, 0)
	winner.Resources = trial.Resources{Registers: 64, SharedBytes: 100_000, LocalBytes: 16, Occupancy: 0.25}
	winner.Launches = operator.Launches{{Block: [3]int64{256, 1, 1}, SharedBytes: 100_000}}
	failed := tried("k", 0, 3, 1, 0)
	failed.Fail(trial.CompileError, "too many registers")
	trials := []trial.Trial{winner, tried("k", 1.5, 1, 1, 0), tried("k", 1.001, 2, 2, 0), tried("k", 3, 1, 2, 0), failed, tried("other", 1.3, 7), tried("third", 2)}
	limits := operator.Limits{RegistersPerSM: 65536, SharedPerSM: 233472}
	e := Of(t.Context(), Subject{Winner: winner, Trials: trials, Limits: limits, Bytes: 95e6, Flops: 1e9, CopyBytesPerMS: 1e8})
	want := []string{
		"It reaches 95 % of the measured copy bandwidth: it is limited by memory.",
		"Shared memory limits each multiprocessor to 2 blocks of 256 threads; the occupancy is 25 %.",
		"Each thread spills 16 bytes to local memory, because its 64 registers do not hold all of its values.",
	}
	if !slices.Equal(e.Sentences, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(e.Sentences, "\n"), strings.Join(want, "\n"))
	}
	for _, sentence := range Of(t.Context(), Subject{Winner: winner}).Sentences {
		if strings.Contains(sentence, "NaN") || strings.Contains(sentence, "Inf") {
			t.Error(sentence)
		}
	}
}

// pooling returns a small problem of avg_pool1d.
func pooling(t *testing.T) *operator.Problem {
	t.Helper()
	op, err := operator.Find("avg_pool1d")
	must.OK(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{4, 8, 256}}, operator.TypicalLimits())
	must.OK(t, err)
	return p
}

// Changes are valid, distinct and differ from the winner in one tunable; all neighbouring values are among them.
func TestChanges(t *testing.T) {
	p := pooling(t)
	sp, err := p.Space(t.Context())
	must.OK(t, err)
	defaults := p.Defaults(t.Context())
	for at := range int64(12) {
		winner := trial.Trial{Configuration: sp.At(at * (sp.Len() - 1) / 11)}
		winner.Status, winner.Time = trial.OK, trial.Timing{Median: 1, CI95: [2]float64{1, 1}}
		s := Subject{Winner: winner, Problem: p}
		known := map[string]bool{}
		for _, c := range s.Changes(t.Context()) {
			_, one := alone(winner.Configuration, c)
			if _, valid := sp.Index(c); !valid || !one || known[c.Key()] {
				t.Errorf("%s beside %s: valid %v, one tunable %v, again %v", c, winner.Configuration, valid, one, known[c.Key()])
			}
			known[c.Key()] = true
		}
		for i := range sp.Len() {
			c := sp.At(i)
			place, one := alone(winner.Configuration, c)
			if !one || known[c.Key()] {
				continue
			}
			declared, _ := s.template(t.Context())
			v := winner.Values[place]
			at := func(v space.Value) int {
				return slices.IndexFunc(declared[v.Name], func(d space.Value) bool { return d.Value.Equal(v.Value) })
			}
			apart := at(v) - at(space.Value{Name: v.Name, Value: c.Values[place].Value})
			step := apart == 1 || apart == -1
			untuned := slices.ContainsFunc(defaults, func(d space.Configuration) bool {
				value, has := d.Get(v.Name)
				return d.Template == c.Template && has && value.Equal(c.Values[place].Value)
			})
			if step || untuned {
				t.Errorf("%s is not measured beside %s", c, winner.Configuration)
			}
		}
	}
}

// Trials that were timed in turns with the winner replace the search's trials of the same configurations.
func TestMeasured(t *testing.T) {
	winner := tried("k", 1, 2, 1, 0)
	turn := func(ratio float64, values ...int64) trial.Turned {
		return trial.Turned{Trial: tried("k", ratio, values...), Ratio: ratio, CI95: [2]float64{ratio * 0.999, ratio * 1.001}}
	}
	failed := trial.Turned{Trial: tried("k", 0, 2, 3, 0)}
	failed.Fail(trial.LaunchError, "too many threads")
	e := Of(t.Context(), Subject{
		Winner: winner, Trials: []trial.Trial{winner, tried("k", 9, 1, 1, 0)},
		Measured: []trial.Turned{turn(1.5, 1, 1, 0), turn(1.2, 2, 2, 0), failed},
	})
	if n := e.Tunables[0].Neighbours; len(n) != 1 || !n[0].Measured || n[0].Ratio != 1.5 || n[0].String() != "+50 %" {
		t.Errorf("neighbours of a: %+v", n)
	}
	if n := e.Tunables[1].Neighbours; len(n) != 2 || n[0].String() != "launch_error" || n[1].String() != "+20 %" {
		t.Errorf("neighbours of b: %+v", n)
	}
}
