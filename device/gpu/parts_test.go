package gpu

import (
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testoperators"
	"autotune/operator"
)

// For a tensor of 7 bytes, one guard zone ends right before the first byte, and the other begins right after the last
// byte.
func TestZonesAround(t *testing.T) {
	const data = 1<<30 + guardBytes
	got := zonesAround(data, 7, data+256+guardBytes)
	if want := []uint64{1 << 30, guardBytes / 4, 0, data + 4, (252 + guardBytes) / 4, 3}; !slices.Equal(got, want) {
		t.Errorf("zonesAround = %v, want %v", got, want)
	}
}

func TestUnfit(t *testing.T) {
	d := Bounds{Limits: operator.Limits{MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448}, SMThreads: 2048}
	n := Needs{Registers: 40, StaticShared: 1024, MaxThreads: 512}
	for _, tt := range []struct {
		name        string
		grid, block [3]int64
		shared      int64
		message     string
	}{
		{"fits", [3]int64{1 << 30, 1, 1}, [3]int64{512, 1, 1}, 232448 - 1024, ""},
		{"threads", [3]int64{1, 1, 1}, [3]int64{1024, 2, 1}, 0, "2048 threads"},
		{"registers", [3]int64{1, 1, 1}, [3]int64{1024, 1, 1}, 0, "40 registers a thread leave room for 512"},
		{"shared", [3]int64{1, 1, 1}, [3]int64{32, 1, 1}, 232448, "233472 bytes of shared memory"},
	} {
		message := unfit(n, operator.Launch{Grid: tt.grid, Block: tt.block, SharedBytes: tt.shared}, d.Limits)
		if !strings.Contains(message, tt.message) || (message == "") != (tt.message == "") {
			t.Errorf("%s: %q, want %q", tt.name, message, tt.message)
		}
	}
	got := n.resources(operator.Launch{Block: [3]int64{256, 1, 1}, SharedBytes: 24}, 4, d)
	if want := (trial.Resources{Registers: 40, SharedBytes: 1048, Occupancy: 0.5}); got != want {
		t.Errorf("resources = %+v, want %+v", got, want)
	}
}

func TestClocks(t *testing.T) {
	since := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name     string
		readings []Reading
		last     int
		warnings []string
	}{
		{"unknown", nil, 0, nil},
		{"still", []Reading{{At: since, MHz: 1980}, {At: since, MHz: 1980}}, 1980, nil},
		{"within the bound", []Reading{{At: since, MHz: 2000}, {At: since, MHz: 1900}}, 1900, nil},
		{"beyond the bound", []Reading{{At: since, MHz: 2000}, {At: since, MHz: 1899}}, 1899,
			[]string{"the clock moved between 1899 and 2000 MHz during the samples"}},
		{"up and back", []Reading{{At: since, MHz: 1500}, {At: since, MHz: 1980}, {At: since, MHz: 1500}}, 1500,
			[]string{"the clock moved between 1500 and 1980 MHz during the samples"}},
		{"before the samples", []Reading{{At: since.Add(-time.Second), MHz: 345}, {At: since, MHz: 1980}}, 1980, nil},
		{"lost", []Reading{{At: since, MHz: 1980}, {At: since, MHz: 0}}, 0, nil},
		{"throttled for a while", []Reading{{At: since, MHz: 1980, Throttled: []string{"power limit"}}, {At: since, MHz: 1980, Throttled: []string{"power limit"}}, {At: since, MHz: 1980}}, 1980,
			[]string{"throttled: power limit"}},
	} {
		c := clocks{since: since}
		for _, r := range tt.readings {
			c.add(r)
		}
		if c.last != tt.last || !slices.Equal(trial.Lines(c.warnings()), tt.warnings) {
			t.Errorf("%s: %d MHz, %q; want %d, %q", tt.name, c.last, c.warnings(), tt.last, tt.warnings)
		}
	}
}

// Each filled argument has a seed of its own, even if other arguments lie between the filled arguments.
func TestFills(t *testing.T) {
	p := testoperators.Problem(t, "mixed", 1000, operator.Limits{})
	filled, err := elements.FillsOf(p.Arguments, "normal", 10)
	must.OK(t, err)
	for i, a := range p.Arguments {
		want := uint32(0)
		if a.Role.Filled() {
			want = 10 + uint32(i)
		}
		if filled[i].Seed != want {
			t.Errorf("%s has the seed %d, want %d", a.Name, filled[i].Seed, want)
		}
	}
	if q := filled[1]; q.A != 0 || q.B != 7 {
		t.Errorf("q is filled with %+v", q)
	}
}

// lazy returns a variant that skips work in repeated launches, in the way that `mode` names.
func (b *bench) lazy(mode string) device.Variant {
	v := b.variant(0)
	v.Binary = &compile.Binary{Code: []byte(mode)}
	return v
}

// A kernel that would be the fastest because it skips work is detected under all timing conditions. A kernel that would
// not be the fastest is not tested for skipped work, except for timed launches that write nothing.
func TestLazyKernels(t *testing.T) {
	for name, change := range map[string]func(*device.Protocol){
		"one by one": func(*device.Protocol) {},
		"batches":    func(p *device.Protocol) { p.BatchBelow = 2 * time.Millisecond },
		"graph":      func(p *device.Protocol) { p.Conditions.Launch = device.Graph },
		"warm":       func(p *device.Protocol) { p.Conditions.L2 = device.Warm },
	} {
		t.Run(name, func(t *testing.T) {
			proto := fakeProtocol()
			change(&proto)
			b := openAffine(t, proto)
			const leavesOut = "the kernel leaves out work whose results are there already"
			for mode, want := range map[string]string{
				"counts":    "after the timed launches y differs from the reference in 1000 of 1000 elements",
				"looks":     leavesOut,
				"keeps_all": leavesOut,
				"keeps_two": leavesOut,
			} {
				o, err := b.session.Evaluate(t.Context(), b.lazy(mode), 0)
				if err != nil || o.Status != trial.WrongResult || !strings.Contains(o.Message, want) {
					t.Errorf("%s: %s %q, %v", mode, o.Status, o.Message, err)
				}
				if o, err = b.session.Evaluate(t.Context(), b.lazy(mode), 1e-3); mode != "counts" && (err != nil || o.Status != trial.OK) {
					t.Errorf("%s behind another: %s %q, %v", mode, o.Status, o.Message, err)
				}
				if o, err = b.session.Evaluate(t.Context(), b.variant(0), 0); err != nil || o.Status != trial.OK || o.Time.Median != 1 {
					t.Errorf("after %s: %+v, %v", mode, o, err)
				}
			}
			b.closed()
		})
	}
}

// A kernel that returns results for earlier inputs is found wrong even if only a few elements of the inputs have
// changed since.
func TestChangedInputs(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	for mode, want := range map[string]trial.Status{"0": trial.OK, "keeps_all": trial.OK, "keeps_two": trial.WrongResult} {
		o, _, err := b.session.Check(t.Context(), b.lazy(mode), device.Check{Changes: true})
		if err != nil || o.Status != want || want != trial.OK && !strings.HasPrefix(o.Message, "after a few of the inputs changed: ") {
			t.Errorf("%s: %s %q, %v", mode, o.Status, o.Message, err)
		}
		if o, _, err = b.session.Check(t.Context(), b.variant(0), device.Check{}); err != nil || o.Status != trial.OK {
			t.Errorf("after %s: %s %q, %v", mode, o.Status, o.Message, err)
		}
	}
	b.closed()
}

// For large inputs, every element of an output may be wrong by the absolute error that is allowed for the output's
// largest element.
func TestLargeInputs(t *testing.T) {
	b := openAffine(t, fakeProtocol())
	must.OK(t, b.session.Refill(t.Context(), device.Inputs{Distribution: "large", Seed: 1}))
	checks := &b.session.(*session).checks
	if y := checks.sizes[len(checks.sizes)-1]; y <= 1 || y > 3 {
		t.Errorf("the largest output is %v", y)
	}
	if err := b.session.Refill(t.Context(), device.Inputs{Distribution: "tiny", Seed: 1}); err != nil || checks.sizes[len(checks.sizes)-1] != 0 {
		t.Errorf("%v, %v", checks.sizes, err)
	}
	b.closed()
}
