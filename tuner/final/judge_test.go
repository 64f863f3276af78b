package final

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
)

var copying = strings.NewReplacer("inputs: [uniform01]", "inputs: [uniform01, normal]").
	Replace(toy.OpYAML("copying", "tunables: {a: [1, 2, 3]}", "default: {a: 1}"))

func problem(t *testing.T) *operator.Problem { return toy.Problem(t, copying, 64) }

// bench is a test device whose variants take the times in a table.
type bench struct {
	toy.Device
	takes  map[int64]float64                                         // times by the value of a
	wrong  func(a int64, p *operator.Problem, in device.Inputs) bool // says which variants fail at a gate
	broken string                                                    // name of the method that fails
	races  int64                                                     // a of the variant with a data race; 0: none is sought

	problem *operator.Problem
	inputs  device.Inputs
	log     []string
}

var errBroken = errors.New("the device broke")

func (b *bench) did(method string) error {
	b.log = append(b.log, method)
	if method == b.broken {
		return errBroken
	}
	return nil
}

func (b *bench) Ceilings() device.Ceilings { return device.Ceilings{} }

func (b *bench) Open(_ context.Context, p *operator.Problem, _ *compile.Binary, proto device.Protocol) (device.Session, error) {
	return &bench{takes: b.takes, wrong: b.wrong, problem: p, inputs: proto.Inputs()}, b.did("open")
}

func (b *bench) Evaluate(_ context.Context, v device.Variant, _ float64) (o trial.Outcome, err error) {
	return toy.Took(b.takes[valueOf(v)]), b.did("evaluate")
}

func (b *bench) Check(_ context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	in := b.inputs
	if c.Changes {
		in.Distribution = changedInputs
	}
	if b.wrong != nil && b.wrong(valueOf(v), b.problem, in) {
		return trial.Outcome{Status: trial.WrongResult, Message: "y differs"}, 1, b.did("check")
	}
	return trial.Outcome{Status: trial.OK}, max(1, c.Launches), b.did("check")
}

func (b *bench) Refill(_ context.Context, in device.Inputs) error {
	b.inputs = in
	return b.did("refill")
}

// racing is a test device that can look for data races, and finds one in each variant whose tunable `a` has a certain
// value.
type racing struct {
	*bench
	a int64
}

func (r racing) Races(_ context.Context, v device.Variant) (o trial.Outcome, looked string, err error) {
	if valueOf(v) == r.a {
		return trial.Outcome{Status: trial.WrongResult, Message: "race: plain.cu:1"}, "", r.did("races")
	}
	return trial.Outcome{Status: trial.OK}, "no data race in 2 launches", r.did("races")
}

func valueOf(v device.Variant) int64 {
	value, _ := v.Configuration.Get("a")
	n, _ := value.AsInt()
	return n
}

// settled runs Settle on three variants that a search has timed at 1, 2 and 3 ms.
func settled(t *testing.T, b *bench, gating Gating) (*Field, Verdict, []string, error) {
	t.Helper()
	f := NewField(1, nil)
	for a := int64(1); a <= 3; a++ {
		f.Enter(a, tried(a, 0, float64(a)))
	}
	b.problem = problem(t)
	proto := device.ProtocolFor(b.problem.Operator)
	b.inputs = proto.Inputs()
	var session device.Session = b
	if b.races != 0 {
		session = racing{b, b.races}
	}
	var amended []string
	verdict, err := Settle(t.Context(), f, Case{
		Subject: Subject{Problem: b.problem, Device: b, Protocol: proto, Launches: Launches}, Gating: gating,
		Started: time.Now(), Session: session, Variants: map[int64]device.Variant{},
		Compile: func(_ context.Context, id int64) (device.Variant, trial.Outcome, error) {
			c := tried(id, 0, 1).Configuration
			k, err := b.problem.Kernel(c)
			return device.Variant{Configuration: c, Kernel: k, Binary: &compile.Binary{}}, trial.Outcome{}, err
		},
		Amended: func(t trial.Trial) { amended = append(amended, t.Configuration.String()) },
		Gate:    func() {},
	})
	return f, verdict, amended, err
}

func TestSettle(t *testing.T) {
	as := func(a1, a2, a3 float64) map[int64]float64 { return map[int64]float64{1: a1, 2: a2, 3: a3} }
	for _, c := range []struct {
		name   string
		takes  map[int64]float64
		wrong  func(a int64, p *operator.Problem, in device.Inputs) bool
		gating Gating
		winner string
		fails  []string // messages of the trials that fail
		passed bool     // whether the winner went through the gates
	}{
		{"the leader stays", as(1, 2, 3), nil, GateWinner, "plain a=1", nil, true},
		{"the lucky one falls behind", as(9, 2, 3), nil, GateWinner, "plain a=2", nil, true},
		{"no gates", as(1, 2, 3), nil, GateNone, "plain a=1", nil, false},
		{"wrong on other inputs", as(1, 2, 3), func(a int64, _ *operator.Problem, in device.Inputs) bool {
			return a == 1 && in.Distribution == "normal"
		}, GateWinner, "plain a=2", []string{"gate inputs normal, seed 1: y differs"}, true},
		{"wrong on zeros and large numbers", as(1, 2, 3), func(a int64, _ *operator.Problem, in device.Inputs) bool {
			return a == 1 && in.Distribution == "zeros" || a == 2 && in.Distribution == "large"
		}, GateWinner, "plain a=3", []string{"gate inputs zeros, seed 1: y differs", "gate inputs large, seed 1: y differs"}, true},
		{"wrong once inputs change", as(1, 2, 3), func(a int64, _ *operator.Problem, in device.Inputs) bool {
			return a == 1 && in.Distribution == changedInputs
		}, GateWinner, "plain a=2", []string{"gate changed inputs: y differs"}, true},
		{"wrong on a ragged shape", as(1, 2, 3), func(a int64, p *operator.Problem, _ device.Inputs) bool {
			return a < 3 && p.Shape[0] == 63
		}, GateWinner, "plain a=3", []string{"gate neighbour copying 63: y differs", "gate neighbour copying 63: y differs"}, true},
		{"all through the gates", as(1, 2, 3), func(a int64, _ *operator.Problem, _ device.Inputs) bool {
			return a == 2
		}, GateAll, "plain a=1", []string{"gate launches: y differs"}, true},
		{"none is right", as(1, 2, 3), func(int64, *operator.Problem, device.Inputs) bool { return true }, GateWinner, "",
			[]string{"gate launches: y differs", "gate launches: y differs", "gate launches: y differs"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{takes: c.takes, wrong: c.wrong}
			f, verdict, amended, err := settled(t, b, c.gating)
			must.OK(t, err)
			var got string
			if winner, _ := f.Decide(); winner != nil {
				got = winner.Configuration.String()
			}
			var fails []string
			for _, x := range f.Trials {
				if x.Status != trial.OK {
					fails = append(fails, x.Message)
				}
			}
			if got != c.winner || !slices.Equal(fails, c.fails) || (verdict.Gates != nil) != c.passed {
				t.Errorf("winner %q, failed %q, gates %v; want %q, %q", got, fails, verdict.Gates, c.winner, c.fails)
			}
			if c.gating != GateAll && len(amended) == 0 || b.inputs != (device.Inputs{Distribution: "uniform01", Seed: 1}) {
				t.Errorf("amended %q, inputs left as %v", amended, b.inputs)
			}
			if g := verdict.Gates; g != nil && (g.Launches != Launches || g.Inputs != 11 || len(g.Neighbours) != 3 || g.Alone) {
				t.Errorf("the winner passed %s", g)
			}
		})
	}
}

// If the device fails, Settle returns its error, and the trials stay as they are.
func TestSettleOnABrokenDevice(t *testing.T) {
	for _, method := range []string{"evaluate", "check", "refill", "open"} {
		b := &bench{takes: map[int64]float64{1: 1, 2: 2, 3: 3}, broken: method}
		f, _, _, err := settled(t, b, GateWinner)
		if !errors.Is(err, errBroken) || !strings.HasPrefix(err.Error(), "evaluate plain a=1: ") || b.log[len(b.log)-1] != method && method != "refill" {
			t.Errorf("%s: %v after %q", method, err, b.log)
		}
		if f.Best() == nil || f.ByStatus[trial.OK] != 3 {
			t.Errorf("%s: %v", method, f.ByStatus)
		}
	}
}

// A device that can look for data races does so for the winner under GateWinner, and for all variants under GateAll and
// GateRaces. With the option GateRaces, a variant goes through the gate of data races and no other gate.
func TestSettleLooksForRaces(t *testing.T) {
	takes := map[int64]float64{1: 1, 2: 2, 3: 3}
	for gating, checks := range map[Gating]bool{GateWinner: true, GateAll: true, GateRaces: false} {
		b := &bench{takes: takes, races: 1}
		f, verdict, _, err := settled(t, b, gating)
		must.OK(t, err)
		winner, _ := f.Decide()
		if got := f.Trials[0]; winner == nil || winner.Configuration.String() != "plain a=2" || got.Status != trial.WrongResult || got.Message != "gate races: race: plain.cu:1" {
			t.Errorf("%s: winner %v; %s, %s", gating, winner, got.Status, got.Message)
		}
		if g := verdict.Gates; g == nil || g.Races != "no data race in 2 launches" || !strings.Contains(g.String(), "s; no data race in 2 launches") {
			t.Errorf("%s: gates %v", gating, g)
		}
		if slices.Contains(b.log, "check") != checks {
			t.Errorf("%s: %q", gating, b.log)
		}
	}
	b := &bench{takes: takes, races: 1, broken: "races"}
	if _, _, _, err := settled(t, b, GateWinner); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

func TestRaggedShapes(t *testing.T) {
	for _, shape := range [][]int64{{1}, {2}, {64}, {1, 1}, {8, 16}, {2, 3, 1024, 1024}, {7, 5, 3}} {
		seen := [][]int64{shape}
		for _, other := range raggedShapes(shape) {
			if slices.ContainsFunc(seen, func(s []int64) bool { return slices.Equal(s, other) }) {
				t.Errorf("%v: %v twice", shape, other)
			}
			seen = append(seen, other)
			for i, d := range other {
				if d < 1 || d > shape[i] {
					t.Errorf("%v: %v is not within it", shape, other)
				}
			}
		}
		if len(seen) > 6 || len(seen) == 1 && slices.Max(shape) > 1 {
			t.Errorf("%v: %v", shape, seen[1:])
		}
	}
}

// aligned returns a problem whose template has the given constraint, and a configuration of that template with a=4.
func aligned(t *testing.T, shape string, constraint string, sizes ...int64) (*operator.Problem, space.Configuration) {
	t.Helper()
	text := strings.NewReplacer("shape: [n]\ntensors", "shape: ["+shape+"]\ntensors", "shape: [n]}", "shape: ["+shape+"]}", "n, 32", "32, 32",
		"8*n, flops: n", "8, flops: 8", "tunables: {a: [1, 2, 3]}", "tunables: {a: [1, 4]}\n    constraints: [\""+constraint+"\"]").Replace(copying)
	p := toy.Problem(t, text, sizes...)
	return p, space.Configuration{Template: "plain", Values: space.Values{{Name: "a", Value: expr.Int(4)}}}
}

// Neighbouring problems are as near to the searched problem as the template's constraints allow; some constraints allow
// none.
func TestNeighbours(t *testing.T) {
	for _, c := range []struct {
		shape, constraint string
		sizes             []int64
		want              string
	}{
		{"n", "n > 0", []int64{64}, "63 1 65"},
		{"n", "n % a == 0", []int64{65536}, "65532 65540"},
		{"n", "n % (a*25) == 0", []int64{1200}, ""},
		{"n", "n % (a*24) == 0", []int64{1152}, "1056 1248"},
		{"rows, n", "n % a == 0", []int64{16, 1024}, "16x1020 15x1024 16x1028"},
		{"rows, n", "n % a == 0 and rows % 8 == 0", []int64{16, 1024}, "16x1020 8x1024 16x1028"},
		{"rows, n", "n == 1024", []int64{16, 1024}, "15x1024 17x1024"},
		{"n", "n == 1024", []int64{1024}, ""},
	} {
		p, configuration := aligned(t, c.shape, c.constraint, c.sizes...)
		var got []string
		for _, near := range neighbours(t.Context(), p, configuration) {
			got = append(got, operator.FormatShape(near.Shape))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%v where %s: %s, want %s", c.sizes, c.constraint, text, c.want)
		}
	}
}

// For the example of every built-in operator, there is a neighbouring problem for the default and for random
// configurations of each template.
func TestBuiltinNeighbours(t *testing.T) {
	operators, err := operator.Operators()
	must.OK(t, err)
	for _, o := range operators {
		p, err := o.Bind(operator.Request{Shape: o.Example}, operator.TypicalLimits())
		must.OK(t, err)
		sp, err := p.Space(t.Context())
		must.OK(t, err)
		choices, random := p.Defaults(t.Context()), rand.New(rand.NewPCG(1, 2))
		for part := range sp.Parts() {
			first, end := sp.Range(part)
			for range min(8, end-first) {
				choices = append(choices, sp.At(first+random.Int64N(end-first)))
			}
		}
		for _, c := range choices {
			if len(neighbours(t.Context(), p, c)) == 0 {
				t.Errorf("%s: %s has no neighbour", p, c)
			}
		}
	}
}

// If a winner was tried on no neighbouring problem, the result says so and gives the reason.
func TestAlone(t *testing.T) {
	alone, tried := &Gates{Launches: 100, Changed: true, Inputs: 6, Alone: true}, &Gates{Launches: 100, Changed: true, Inputs: 6, Neighbours: []string{"k 63"}}
	if text := alone.String(); !strings.Contains(text, "no neighbour, since the configuration serves none") || !strings.Contains(alone.Warning(), "this shape alone") {
		t.Errorf("%s; %s", text, alone.Warning())
	}
	late := &Gates{Launches: 100, Inputs: 4, LeftOut: []string{"k 63"}}
	if !strings.Contains(late.Warning(), "time or memory was short") {
		t.Error(late.Warning())
	}
	if text := tried.String(); !strings.Contains(text, "1 neighbour,") || tried.Warning() != "" || (*Gates)(nil).Warning() != "" {
		t.Errorf("%s; %s", text, tried.Warning())
	}
}

// Reserve returns at most a quarter of the search's time limit.
func TestReserve(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		0: 0, 8 * time.Second: 2 * time.Second, 16 * time.Second: 4 * time.Second, 20 * time.Second: 5 * time.Second, time.Hour: 15 * time.Minute,
	} {
		if got := Reserve(limit); got != want {
			t.Errorf("%v of %v, want %v", got, limit, want)
		}
	}
}
