package cuda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"autotune/internal/testcache"
	"autotune/internal/testneeds"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// compiling is a GPU that only compiles.
func compiling(t *testing.T) *gpu {
	t.Helper()
	compiler, err := compile.NVRTC(t.Context(), compile.LineInfo)
	testneeds.NVRTC.Opened(t, err, compile.ErrMissing)
	t.Cleanup(func() { compiler.Close() })
	return &gpu{compiler: compile.Cached(testcache.Dir(), compiler), about: device.Info{Limits: operator.Limits{Arch: 90, Target: compile.Target(compiler.Version(), 90), MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 232448}}}
}

// The device's own kernels, and those of its tests, are what a compiler takes.
func TestKernelsCompile(t *testing.T) {
	g := compiling(t)
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
	own := ownProblem(t, 1000, g.about.Limits)
	problems[own.Operator.Name] = own
	for mode := range int64(4) {
		kernels = append(kernels, testVariant(t, own, mode).Kernel)
	}
	for _, k := range kernels {
		b, err := g.compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "sm_90"})
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

// An operator's own kernels must compile, and take what they are given.
func TestOwnKernels(t *testing.T) {
	g := compiling(t)
	for want, edits := range map[string][]string{
		"": {ownReference, ownComparison},
		"the fill kernel of own cannot be launched: fill.cu: the kernel's parameters take ":   {"float scale, unsigned int seed", "float scale, int more, unsigned int seed"},
		"the comparison of own does not compile: compare.cu:":                                 {ownReference, ownComparison, "double apart", "nothing apart"},
		"the comparison of own cannot be launched: compare.cu: the kernel's parameters take ": {ownReference, ownComparison, "const long long* before, ", "", "before[i]", "0"},
	} {
		s := &session{gpu: g, problem: ownProblem(t, 1000, g.about.Limits, edits...)}
		err := s.addOwn(t.Context())
		var failed *device.ReferenceError
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && (!errors.As(err, &failed) || !strings.Contains(got, want)) {
			t.Errorf("%v; want %q", err, want)
		}
		if err := s.removeFolder(); err != nil {
			t.Error(err)
		}
		if want == "" && (len(s.request.Fillings) != 1 || s.request.Comparing.Bound != 1e-3 || s.request.Files[1] == "") {
			t.Errorf("%+v", s.request)
		}
	}
}
