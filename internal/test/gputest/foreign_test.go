package gputest

import (
	"embed"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/operator"
)

// The folder testdata/foreign contains kernels from the examples of the autotuner Kernel Tuner. Each file in
// testdata/foreign contains a kernel and the description that makes the kernel an operator.
//
//go:embed testdata/foreign/*.cu
var foreign embed.FS

// foreignRows are the two problems of each Kernel Tuner kernel: a small one for the emulator and a large one for a GPU.
var foreignRows = map[string][2]string{
	"vector_add":  {"1000", "10000019"},
	"matmul":      {"64", "512"},
	"convolution": {"30x45 filter=5x3", "1000x1003 filter=17"},
	"pnpoly":      {"500 corners=30", "200003 corners=600"},
	"expdist":     {"70x45", "1500x1003"},
	"sepconv":     {"30x77 radius=3", "1000x1003 radius=8"},
}

// proveForeign tests one problem of each Kernel Tuner kernel on a device.
func proveForeign(t *testing.T, d device.Device, row, drawn int) {
	v := &prover{device: d, drawn: drawn}
	for name, rows := range foreignRows {
		o, err := operator.LoadFile(foreign, "testdata/foreign", name+".cu")
		must.OK(t, err)
		p, err := bind(o, rows[row], "", d.Info().Limits)
		must.OK(t, err)
		if found := p.Whole().Warnings(); len(found) > 0 {
			t.Errorf("%s: %s", p, strings.Join(found, "; "))
		}
		k, err := p.Reference()
		must.OK(t, err)
		reference, err := d.Compiler().Compile(t.Context(), compile.Request{Kernel: k, Arch: d.Arch()})
		must.OK(t, err)
		v.prove(t, p.Whole(), reference)
	}
	t.Log("\n" + v.tally.String())
}

func TestForeign(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for some seconds")
	}
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	defer d.Close()
	proveForeign(t, d, 0, 1)
}
