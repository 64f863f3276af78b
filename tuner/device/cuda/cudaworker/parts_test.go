//go:build cuda

package cudaworker

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

func TestPlanMemory(t *testing.T) {
	p := planMemory([]operator.Argument{
		{Role: operator.Input, Type: operator.F32, Elements: 1 << 32}, // more than 2^31 elements
		{Role: operator.Weight, Type: operator.F32},
		{Role: operator.Output, Type: operator.F32, Elements: 3},
		{Role: operator.InOut, Type: operator.U8, Elements: 257},
		{Role: operator.Workspace, Type: operator.F64, Elements: 32},
		{Role: operator.Scalar, Type: operator.F64},
	}, 50<<20)
	want := memory{
		Tensors:    []int64{16<<30 + 2*guardBytes, 0, 256 + 2*guardBytes, 512 + 2*guardBytes, 256 + 2*guardBytes, 0},
		References: []int64{0, 0, 256, 512, 0, 0},
		Pristine:   []int64{0, 0, 0, 512, 0, 0},
		Flush:      100 << 20,
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("planMemory = %+v, want %+v", p, want)
	}
	if err := p.check(80<<30, 80<<30); err != nil {
		t.Errorf("a plan that fits: %v", err)
	}
	err := p.check(15<<30, 24<<30)
	var f *wire.Fault
	if !errors.As(err, &f) || f.Kind != wire.NoMemory || !strings.Contains(err.Error(), "needs 16.1 GiB, the GPU has 15.0 GiB free of 24.0 GiB") {
		t.Errorf("a plan that does not fit: %v", err)
	}
}

// The zones around a tensor of 7 bytes begin and end at its own.
func TestZonesAround(t *testing.T) {
	const data = 1<<30 + guardBytes
	got := zonesAround(data, 7, data+256+guardBytes)
	if want := []uint64{1 << 30, guardBytes / 4, 0, data + 4, (252 + guardBytes) / 4, 3}; !slices.Equal(got, want) {
		t.Errorf("zonesAround = %v, want %v", got, want)
	}
}

// simulate takes the samples that sampling asks for from a variant that always
// takes ms, and tells the lengths of the spells.
func simulate(s *sampling, ms float64) (spells []int) {
	for len(spells) < 1000 {
		n := s.next(ms)
		if n == 0 {
			break
		}
		spells = append(spells, n)
		for range n {
			s.samples = append(s.samples, ms)
			s.spent += time.Duration(ms * float64(time.Millisecond))
		}
	}
	return spells
}

func TestSampling(t *testing.T) {
	proto := device.DefaultProtocol() // 30 samples, 5 at least, 300 ms, ratio 1.15
	for _, tt := range []struct {
		name     string
		ms, best float64
		spells   []int
		dropped  bool
	}{
		{"the first variant", 1.5, 0, []int{5, 25}, false},
		{"the new best", 1.5, 2, []int{2, 2, 4}, false},
		{"short and good", 0.1, 0.1, []int{5, 5}, false},
		{"behind", 1.5, 1.2, []int{2}, true},
		{"a little behind", 1.5, 1.46, []int{2}, true},
		{"hardly behind", 1.5, 1.49, []int{2, 2, 4}, false},
		{"short and hopeless", 0.3, 0.1, []int{5}, true},
		{"hopeless", 5, 1.5, []int{2}, true},
		{"slow, and the first", 40, 0, []int{5, 2, 1}, false},
		{"very slow, and the first", 2000, 0, []int{1}, false},
		{"slow, and the best", 90, 90, []int{2, 1, 1}, false},
	} {
		s := &sampling{protocol: proto, best: tt.best}
		if spells := simulate(s, tt.ms); !slices.Equal(spells, tt.spells) || s.dropped != tt.dropped {
			t.Errorf("%s: spells %v, dropped %v; want %v, %v", tt.name, spells, s.dropped, tt.spells, tt.dropped)
		}
	}
}

// A variant as fast as the best stays in the race, whatever its noise; one that is
// clearly behind leaves it early.
func TestRacing(t *testing.T) {
	const runs = 4000
	for _, tt := range []struct {
		spread, behind float64
		dropped        [2]float64 // share of the runs, at least and at most
		samples        float64    // in the mean, at most
	}{
		{0.001, 1, [2]float64{0, 0}, 30},
		{0.01, 1, [2]float64{0, 0.002}, 30},
		{0.05, 1, [2]float64{0, 0.005}, 30},
		{0.2, 1, [2]float64{0, 0.005}, 30},
		{0.001, 1.03, [2]float64{0.99, 1}, 4.1},
		{0.01, 1.1, [2]float64{0.99, 1}, 8},
		{0.05, 1.5, [2]float64{0.99, 1}, 9},
	} {
		proto := device.DefaultProtocol()
		proto.DropRatio = 100 // leaves the sequential test alone
		random := rand.New(rand.NewPCG(1, 2))
		dropped, taken := 0, 0
		for range runs {
			s := &sampling{protocol: proto, best: 2}
			for n := s.next(2); n > 0; n = s.next(2) {
				for range n {
					s.samples = append(s.samples, 2*tt.behind*math.Exp(tt.spread*random.NormFloat64()))
				}
			}
			taken += len(s.samples)
			if s.dropped {
				dropped++
			}
		}
		share, mean := float64(dropped)/runs, float64(taken)/runs
		if share < tt.dropped[0] || share > tt.dropped[1] || mean > tt.samples {
			t.Errorf("spread %v, %v times the best: dropped %.4f of the time after %.1f samples, want %v and %v at most",
				tt.spread, tt.behind, share, mean, tt.dropped, tt.samples)
		}
	}
}

func TestVerifyingLaunchShowsTheHopeless(t *testing.T) {
	for _, tt := range []struct {
		launch, best float64
		lost         bool
	}{{3.1, 2, true}, {2.9, 2, false}, {0.9, 0.1, false}, {100, 0, false}} {
		s := &sampling{protocol: device.DefaultProtocol(), best: tt.best}
		if got := s.lost(tt.launch); got != tt.lost {
			t.Errorf("a launch of %v ms beside %v: lost %v, want %v", tt.launch, tt.best, got, tt.lost)
		}
	}
	if s := (&sampling{best: 1}); s.lost(100) {
		t.Error("lost a race that nobody runs")
	}
}

func TestSamplingEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		proto := device.Protocol{
			Samples:     rapid.IntRange(-1, 200).Draw(t, "samples"),
			MinSamples:  rapid.IntRange(-1, 50).Draw(t, "least"),
			MeasureTime: time.Duration(rapid.IntRange(0, 500).Draw(t, "time")) * time.Millisecond,
			DropRatio:   rapid.Float64Range(0, 3).Draw(t, "ratio"),
		}
		s := &sampling{protocol: proto, best: rapid.Float64Range(0, 10).Draw(t, "best")}
		spells := simulate(s, rapid.Float64Range(1e-4, 100).Draw(t, "ms"))
		if n := len(s.samples); n < 1 || n > max(proto.Samples, 1) {
			t.Fatalf("%d samples in spells %v", n, spells)
		}
	})
}

func TestBatchFor(t *testing.T) {
	for _, tt := range []struct {
		ms   float64
		want int
	}{{1, 1}, {0.02, 1}, {0.019, 6}, {0.005, 20}, {0.0001, 256}, {0, 256}} {
		if got := batchFor(tt.ms, 20*time.Microsecond); got != tt.want {
			t.Errorf("batchFor(%g) = %d, want %d", tt.ms, got, tt.want)
		}
	}
}

func TestUnfit(t *testing.T) {
	d := bounds{
		Limits:    operator.Limits{MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448},
		MaxGrid:   [3]int64{1<<31 - 1, 65535, 65535},
		MaxBlock:  [3]int64{1024, 1024, 64},
		SMThreads: 2048,
	}
	n := needs{Registers: 40, StaticShared: 1024, MaxThreads: 512}
	for _, tt := range []struct {
		name        string
		grid, block [3]int64
		shared      int64
		status      trial.Status
		message     string
	}{
		{"fits", [3]int64{1 << 30, 1, 1}, [3]int64{512, 1, 1}, 232448 - 1024, "", ""},
		{"empty grid", [3]int64{0, 1, 1}, [3]int64{32, 1, 1}, 0, trial.LaunchError, "at least 1"},
		{"grid", [3]int64{1, 1, 65536}, [3]int64{32, 1, 1}, 0, trial.Pruned, "grid z is 65536"},
		{"block", [3]int64{1, 1, 1}, [3]int64{1, 1, 128}, 0, trial.Pruned, "block z is 128"},
		{"threads", [3]int64{1, 1, 1}, [3]int64{1024, 2, 1}, 0, trial.Pruned, "2048 threads"},
		{"registers", [3]int64{1, 1, 1}, [3]int64{1024, 1, 1}, 0, trial.Pruned, "40 registers a thread leave room for 512"},
		{"shared", [3]int64{1, 1, 1}, [3]int64{32, 1, 1}, 232448, trial.Pruned, "233472 bytes of shared memory"},
	} {
		status, message := unfit(n, operator.Launch{Grid: tt.grid, Block: tt.block, SharedBytes: tt.shared}, d)
		if status != tt.status || !strings.Contains(message, tt.message) || (message == "") != (tt.message == "") {
			t.Errorf("%s: %q %q, want %q %q", tt.name, status, message, tt.status, tt.message)
		}
	}
	got := n.resources(operator.Launch{Block: [3]int64{256, 1, 1}, SharedBytes: 24}, 4, d)
	if want := (trial.Resources{Registers: 40, SharedBytes: 1048, Occupancy: 0.5}); got != want {
		t.Errorf("resources = %+v, want %+v", got, want)
	}
}

func TestMismatchMessage(t *testing.T) {
	y := operator.Argument{Name: "y", Type: operator.F32, Shape: []int64{2, 3, 4}, Elements: 24, ATol: 1e-4, RTol: 1e-4}
	words := []uint64{3, ^uint64(17), 2, 2, uint64(math.Float32bits(0.5)), 99, 98}
	o := outcomeFrom(y, words)
	if want := (outcome{Mismatches: 3, First: 17, Unwritten: 2, NotFinite: 2, LargestError: 0.5, ReferenceSum: 99, OutputSum: 98}); o != want {
		t.Fatalf("outcomeFrom = %+v, want %+v", o, want)
	}
	got := mismatchMessage(y, o, "NaN", "1.5")
	want := "3 of 24 elements of y differ from the reference, 2 were never written; the first at [1 1 1]: NaN instead of 1.5 (largest error 0.5, allowed 0.0001 + 0.0001*|reference|)"
	if got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
}

func TestMismatchMessageOfOne(t *testing.T) {
	y := operator.Argument{Name: "y", Type: operator.F32, Shape: []int64{1}, Elements: 1}
	o := outcome{Mismatches: 1, Unwritten: 1, NotFinite: 2}
	got := mismatchMessage(y, o, "NaN", "1.5")
	want := "1 of 1 element of y differs from the reference, 1 was never written, 1 is NaN or infinite where the other is not; the first at [0]: NaN instead of 1.5 (largest error 0, allowed 0 + 0*|reference|)"
	if got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
	if got, want := zoneMessage([]uint64{7, 1}, []operator.Argument{y}), "it wrote outside its tensors: 1 word before y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Integers are told as integers, whatever they hold.
func TestMismatchMessageOfIntegers(t *testing.T) {
	c := operator.Argument{Name: "c", Type: operator.U64, Shape: []int64{3}, Elements: 3}
	o := outcomeFrom(c, []uint64{2, ^uint64(1), 1, 0, math.Float64bits(1 << 40), 0, 0})
	got := mismatchMessage(c, o, "18446744073709551615", "7")
	want := "2 of 3 elements of c differ from the reference, 1 is what was there before; the first at [1]: 18446744073709551615 instead of 7 (largest error 1099511627776, allowed 0 + 0*|reference|)"
	if got != want {
		t.Errorf("message\n%s\nwant\n%s", got, want)
	}
}

func TestZoneMessage(t *testing.T) {
	got := zoneMessage([]uint64{7, 0, 0, 3, 4}, []operator.Argument{{Name: "x"}, {Name: "y"}})
	if want := "it wrote outside its tensors: 3 words before y, 4 words after y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDriverText(t *testing.T) {
	for want, version := range map[string]struct {
		kernel string
		cuda   int
	}{
		"CUDA 12.4":           {"", 12040},
		"580.1.2 (CUDA 13.0)": {"580.1.2", 13000},
	} {
		if got := driverText(version.kernel, version.cuda); got != want {
			t.Errorf("driverText(%+v) = %q, want %q", version, got, want)
		}
	}
}

func TestKernelDriver(t *testing.T) {
	for text, want := range map[string]string{
		"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\nGCC version:  gcc version 12.2.0\n":                           "535.54.03",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (builder)  \nGCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1)\n": "580.159.04",
		"": "",
	} {
		if got := kernelDriver(text); got != want {
			t.Errorf("kernelDriver(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestThrottleWarnings(t *testing.T) {
	if got := throttleWarnings(0x1 | 0x4 | 0x40); len(got) != 2 || !strings.HasPrefix(got[0].String(), "throttled: ") {
		t.Errorf("throttleWarnings = %q", got)
	}
}

func TestClocks(t *testing.T) {
	since := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name     string
		readings []reading
		last     int
		warnings []string
	}{
		{"unknown", nil, 0, nil},
		{"still", []reading{{at: since, mhz: 1980}, {at: since, mhz: 1980}}, 1980, nil},
		{"within the bound", []reading{{at: since, mhz: 2000}, {at: since, mhz: 1900}}, 1900, nil},
		{"beyond the bound", []reading{{at: since, mhz: 2000}, {at: since, mhz: 1899}}, 1899,
			[]string{"the clock moved between 1899 and 2000 MHz during the samples"}},
		{"up and back", []reading{{at: since, mhz: 1500}, {at: since, mhz: 1980}, {at: since, mhz: 1500}}, 1500,
			[]string{"the clock moved between 1500 and 1980 MHz during the samples"}},
		{"before the samples", []reading{{at: since.Add(-time.Second), mhz: 345}, {at: since, mhz: 1980}}, 1980, nil},
		{"lost", []reading{{at: since, mhz: 1980}, {at: since, mhz: 0}}, 0, nil},
		{"throttled for a while", []reading{{at: since, mhz: 1980, reasons: 0x4}, {at: since, mhz: 1980, reasons: 0x4}, {at: since, mhz: 1980}}, 1980,
			[]string{"throttled: power limit"}},
		{"warm", []reading{{at: since, mhz: 1980, celsius: 81, slows: 87}}, 1980, nil},
		{"hot", []reading{{at: since, mhz: 1980, celsius: 82, slows: 87}, {at: since, mhz: 1980, celsius: 70, slows: 87}, {at: since}}, 0,
			[]string{"the GPU was at 82 °C, and slows down at 87 °C"}},
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

// A counter of 300 W that moves every 100 ms, under launches of 1 ms in bursts
// of five.
func TestEnergyWindow(t *testing.T) {
	const watts, tick, burst = 300, 100, 5
	w := energyWindow{}
	var now int
	for now = burst; now < 10000; now += burst {
		if w.add(energyReading{uint64(now / tick * tick * watts), now, time.Duration(now) * time.Millisecond}) {
			break
		}
	}
	if got := w.perLaunch(); got != watts {
		t.Errorf("%g mJ a launch of 1 ms at %d W", got, watts)
	}
	if span := w.to.at - w.from.at; span < energySpan || span > energySpan+tick*time.Millisecond || now > 1000 {
		t.Errorf("compared over %v, done after %d ms", span, now)
	}
}

func TestEnergyWindowOfSlowLaunches(t *testing.T) {
	w := energyWindow{}
	for i := 1; i <= 3; i++ {
		if complete := w.add(energyReading{uint64(i) * 900, i, time.Duration(i) * 3 * time.Second}); complete != (i == 3) {
			t.Errorf("complete %v after %d launches", complete, i)
		}
	}
	if got := w.perLaunch(); got != 900 {
		t.Errorf("%g mJ a launch, want 900", got)
	}
}

func TestEnergyWindowGivesUp(t *testing.T) {
	w := energyWindow{}
	for i := 1; ; i++ {
		at := time.Duration(i) * 10 * time.Millisecond
		if w.add(energyReading{7, i, at}) {
			break
		}
		if at > 2*energyGiveUp {
			t.Fatal("waits for a counter that stands still")
		}
	}
	if got := w.perLaunch(); got != 0 {
		t.Errorf("%g mJ from a counter that stands still", got)
	}
}

// Who is a stranger on the GPU: not this worker (100), nor another of its parent (1).
func TestStrangers(t *testing.T) {
	parents := map[int]int{100: 50, 101: 50, 200: 1, 201: 1}
	parentOf := func(pid int) (int, bool) {
		parent, here := parents[pid]
		return parent, here
	}
	process := func(pid uint32, memory uint64) nvmlProcess { return nvmlProcess{pid: pid, memory: memory} }
	unknown := trial.Warning{Kind: trial.OtherProcess}
	for _, test := range []struct {
		name         string
		list         []nvmlProcess
		alike, inUse bool
		want         []trial.Warning
	}{
		{"nobody", nil, true, false, nil},
		{"itself", []nvmlProcess{process(100, 5)}, true, true, nil},
		{"another worker of the search", []nvmlProcess{process(101, 5), process(100, 5)}, true, true, nil},
		{"one that has ended", []nvmlProcess{process(999, 5)}, true, false, nil},
		{"a stranger", []nvmlProcess{process(200, 5), process(100, 5)}, true, true, []trial.Warning{{Kind: trial.OtherProcess, PID: 200, Bytes: 5}}},
		{"two, of which one does not tell its memory", []nvmlProcess{process(200, unknownMemory), process(201, 7)}, true, false,
			[]trial.Warning{{Kind: trial.OtherProcess, PID: 200}, {Kind: trial.OtherProcess, PID: 201, Bytes: 7}}},
		{"itself in a container", []nvmlProcess{process(4711, 5)}, false, true, nil},
		{"a stranger in a container, before it has a context", []nvmlProcess{process(4711, 5)}, false, false, []trial.Warning{unknown}},
		{"itself and a stranger in a container", []nvmlProcess{process(4711, 5), process(200, 5)}, false, true, []trial.Warning{unknown}},
		{"a container whose processes the driver knows", []nvmlProcess{process(100, 5), process(200, 6)}, false, true, []trial.Warning{{Kind: trial.OtherProcess, PID: 200, Bytes: 6}}},
	} {
		if got := strangers(test.list, 100, test.alike, test.inUse, parentOf); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	if parent, here := parentProcess(os.Getpid()); !here || parent != os.Getppid() {
		t.Errorf("the parent of this process is %d, %v", parent, here)
	}
}
