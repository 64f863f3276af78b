package cuda

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/testoperators"
	"autotune/tuner/operator"
)

// What ncu writes around the table is passed over; what it complains of is told in a line. The process that launches
// is its own child, whose standard input and output are none of ncu's.
func TestCounters(t *testing.T) {
	const table = `echo '==PROF== Connected to process 1'
echo 'stands in the way: "quoted"'
echo '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
echo '"0","k","a.pct","%","12.5"'
echo '"0","k","b.sum","byte","1,024"'
echo '"1","l","a.pct","%","37.5"'
echo '"1","l","c.pct","%","n/a"'`
	tools := t.TempDir()
	t.Setenv("PATH", tools+":/usr/bin:/bin")
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		t.Setenv(name, tools)
	}
	const launched = "log=$3\nshift 11\n" + `test "$#" = 1 && "$@"` + "\n"
	g := openFake(t)
	p := testoperators.Problem(t, "affine", 1024, g.Info().Limits)
	for _, c := range []struct {
		act, program, wrong string
		want                map[string]float64
	}{
		{"right", "", "neither on the PATH", nil},
		{"right", launched + "{\n" + table + "\n} > $log", "", map[string]float64{"a.pct": 25, "b.sum": 1024}},
		{"right", `test "$1$2$4$5$6$7" = '--csv--log-file--clock-controlnone--kernel-nameregex:^(affine_direct)$' && test "$8$9" = --launch-count1 || exit 4` + "\n" +
			launched + "{\n" + table + "\n} > $log", "", map[string]float64{"a.pct": 25, "b.sum": 1024}},
		{"right", `echo '==ERROR== ERR_NVGPUCTRPERM - no permission' > $3; exit 1`, "developer.nvidia.com/ERR_NVGPUCTRPERM", nil},
		{"right", launched + `echo '==ERROR== no such metric' > $log; exit 1`, "ncu: no such metric", nil},
		{"right", launched + `echo '==WARNING== No kernels were profiled.' > $log`, "its last line: ==WARNING== No kernels were profiled.", nil},
		{"right", "echo 'out of order' >&2; exit 3", "out of order", nil},
		{"faults", launched + `echo '==PROF== Disconnected' > $log`, "under ncu: the winner ended as crashed: an illegal memory access", nil},
		{"dies_under_tools", launched + `echo '==PROF== Disconnected' > $log`, "under ncu: worker fake-cuda died", nil},
	} {
		if c.program != "" {
			if err := os.WriteFile(filepath.Join(tools, counterProgram), []byte("#!/bin/sh\n"+c.program+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		v := testoperators.Variant(t, p, int64(slices.Index(acts, c.act)))
		v.Binary = &compile.Binary{}
		got, err := Counters(t.Context(), g, p, testoperators.Protocol(), v, []string{"a.pct", "b.sum", "c.pct"})
		if !maps.Equal(got, c.want) || (err == nil) != (c.wrong == "") {
			t.Errorf("%s: %v, %v", c.program, got, err)
		}
		if err != nil && (!errors.Is(err, ErrNoCounters) || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", c.program, err)
		}
	}
	if _, err := Counters(t.Context(), fakeGPU{}, p, testoperators.Protocol(), device.Variant{}, nil); !errors.Is(err, ErrNoCounters) || !strings.Contains(err.Error(), "only a GPU of this machine") {
		t.Error(err)
	}
}

// Of a name expression ncu is asked for the function, and of each function for all launches.
func TestCounterCommand(t *testing.T) {
	got := counterCommand("ncu", "log", operator.Launches{{Entry: "k"}, {Entry: "scan<float, 8>"}, {Entry: "k"}}, []string{"a", "b"})
	want := []string{"--kernel-name", "regex:^(k|scan)$", "--launch-count", "3", "--metrics", "a,b"}
	if !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("%q, want %q at the end", got, want)
	}
}
