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
	problems := map[string]*operator.Problem{}
	for name, modes := range map[string]int64{"affine": 12, "mixed": 8, "steps": 8} {
		p := testProblem(t, name, 1000, g.about.Limits)
		problems[name] = p
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
		b, err := compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "sm_90"})
		if err != nil {
			t.Errorf("%s: %v", k.File, err)
			continue
		}
		if k.Operator == "device" {
			continue
		}
		p := problems[k.Operator]
		if wrong := mismatch(b, k, p.Arguments); wrong != "" && k.Operator != "affine" {
			t.Errorf("%s, %v: %s", k.File, k.Macros, wrong)
		}
		for _, l := range k.Launches {
			if _, known := parametersOf(b.Code, b.Symbol(l.Entry)); !known {
				t.Errorf("%s: the code has no %s, which is %s there", k.File, l.Entry, b.Symbol(l.Entry))
			}
		}
	}
}
