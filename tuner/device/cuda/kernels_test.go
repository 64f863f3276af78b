package cuda

import (
	"errors"
	"testing"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// The device's own kernels, and those of its tests, are what a compiler takes.
func TestKernelsCompile(t *testing.T) {
	compiler, err := compile.NVRTC(t.Context(), compile.LineInfo)
	if errors.Is(err, compile.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer compiler.Close()
	g := &gpu{compiler: compiler, about: device.Info{Limits: operator.Limits{Arch: 90, Target: compile.Target(compiler.Version(), 90), MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448}}}
	kernels := []operator.Kernel{helperKernel(), typedKernel()}
	for name, modes := range map[string]int64{"affine": 12, "mixed": 8} {
		p := testProblem(t, name, 1000, g.about.Limits)
		reference, err := p.Reference()
		if err != nil {
			t.Fatal(err)
		}
		kernels = append(kernels, reference)
		for mode := range modes {
			kernels = append(kernels, testVariant(t, p, mode).Kernel)
		}
	}
	for _, k := range kernels {
		if _, err := compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "sm_90"}); err != nil {
			t.Errorf("%s: %v", k.Entry, err)
		}
	}
}
