package tuner

import (
	"slices"
	"testing"
	"testing/fstest"

	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/final"
)

func measuredProblem(t *testing.T) *operator.Problem {
	t.Helper()
	o, err := operator.Load(fstest.MapFS{"op.yaml": {Data: []byte(`
operator: m
shape: [n]
tensors: [{name: y, role: output, shape: [n]}]
cost: [4*n, 3*n]
reference: k
templates:
  - {name: k, source: k.cu, tunables: {threads: [32, 64, 128]}, default: {threads: 64}, launch: {block: [threads, 1, 1], grid: [1, 1, 1]}}
`)}, "k.cu": {Data: []byte("__global__ void m_k(float* y) {}\n")}}, ".")
	toy.Must(t, err)
	p, err := o.Bind(operator.Request{Shape: []int64{1000}}, operator.Limits{Arch: 90, SMs: 132, MaxThreadsPerBlock: 1024, WarpSize: 32})
	toy.Must(t, err)
	return p
}

func timed(threads int64, energyMJ float64, registers int, samples ...float64) trial.Trial {
	x := trial.Trial{Configuration: space.Configuration{Template: "k", Values: space.Values{{Name: "threads", Value: expr.Int(threads)}}}}
	x.Status, x.EnergyMJ, x.Resources.Registers = trial.OK, energyMJ, registers
	x.SetSamples(samples, 1)
	return x
}

func TestStanding(t *testing.T) {
	x := timed(128, 50, 40, 2, 4, 3)
	for _, c := range []struct {
		objective string
		median    float64
		ok        bool
	}{
		{"time", 3, true}, {"min:time", 3, true}, {"max:time", 1 / 3e-3, true}, {"energy", 0.05, true}, {"max:energy", 20, true}, {"registers", 40, true},
		{"occupancy", 0, false},
	} {
		o, err := ParseObjective(c.objective)
		toy.Must(t, err)
		got, ok := o.standing(x)
		if ok != c.ok || ok && (got.Median < c.median*0.999999 || got.Median > c.median*1.000001) {
			t.Errorf("%s: %v %v, want %v %v", c.objective, got.Median, ok, c.median, c.ok)
		}
		if ok && (got.CI95[0] > got.Median || got.CI95[1] < got.Median) {
			t.Errorf("%s: the interval %v does not hold %v", c.objective, got.CI95, got.Median)
		}
	}
}

// The best by an objective is the one that brute force finds.
func TestBestByObjective(t *testing.T) {
	trials := []trial.Trial{timed(32, 70, 10, 5), timed(64, 30, 90, 3), timed(128, 40, 20, 1)}
	for objective, want := range map[string]int64{"time": 128, "energy": 64, "max:energy": 32, "registers": 32} {
		o, err := ParseObjective(objective)
		toy.Must(t, err)
		field := final.NewField(o.standing, -1, nil)
		for i, x := range trials {
			field.Enter(int64(i), x)
		}
		winner, _ := field.Decide()
		if got, _ := winner.Get("threads"); got != expr.Int(want) {
			t.Errorf("the best by %s has %v threads, want %d", objective, got, want)
		}
	}
}

// What is no objective is refused in one line.
func TestParseObjectiveRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"speed":     `there is no objective "speed"; there are energy, local_bytes, occupancy, registers, shared_bytes, time`,
		"best:time": `objective "best:time": want NAME, max:NAME or min:NAME`,
	} {
		if _, err := ParseObjective(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Every measurement that may be an objective has its quantity.
func TestMeasuredNamesAreMeasured(t *testing.T) {
	for _, name := range measurements {
		if name != "time" && name != "energy" && !slices.Contains(recording.Quantities(), name) {
			t.Errorf("nothing measures %s", name)
		}
	}
}
