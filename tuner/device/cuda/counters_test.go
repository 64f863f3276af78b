package cuda

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autotune/tuner/operator"
)

// What ncu prints around the table is passed over; what it complains of is told in a line.
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
	launches := operator.Launches{{Entry: "k"}, {Entry: "scan<float, 8>"}}
	for _, c := range []struct {
		program, wrong string
		want           map[string]float64
	}{
		{"", "neither on the PATH", nil},
		{table, "", map[string]float64{"a.pct": 25, "b.sum": 1024}},
		{`test "$5" = 'regex:^(k|scan)$' && test "$7" = 2 && ` + "\n" + table, "", map[string]float64{"a.pct": 25, "b.sum": 1024}},
		{`echo '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1`, "developer.nvidia.com/ERR_NVGPUCTRPERM", nil},
		{`echo '==ERROR== no such option'; exit 1`, "ncu: no such option", nil},
		{`echo '==WARNING== No kernels were profiled.'`, "the last that was said: ==WARNING== No kernels were profiled.", nil},
		{"exit 3", "exit status 3", nil},
	} {
		if c.program != "" {
			if err := os.WriteFile(filepath.Join(tools, counterProgram), []byte("#!/bin/sh\n"+c.program+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Counters(t.Context(), []string{"true"}, launches, []string{"a.pct", "b.sum", "c.pct"})
		if !maps.Equal(got, c.want) || (err == nil) != (c.wrong == "") {
			t.Errorf("%s: %v, %v", c.program, got, err)
		}
		if err != nil && (!errors.Is(err, ErrNoCounters) || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", c.program, err)
		}
	}
}
