package operator_test

import (
	"regexp"
	"testing"

	"autotune/tuner/operator"
)

// The values that a kernel's file and problem.cuh define, so that an editor can
// read them alone, are those of op.yaml's example and defaults.
func TestKernelsStandAloneWithTheDefaults(t *testing.T) {
	define := regexp.MustCompile(`(?m)^#define (\w+) ([\w.]+)$`)
	o, err := operator.Find("conv2d")
	if err != nil {
		t.Fatal(err)
	}
	hopper := operator.Limits{Arch: 90, Target: "sm_90a", SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 227 << 10,
		SharedPerSM: 228 << 10, RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30}
	p, err := o.Bind(operator.Request{Shape: o.Example, Math: "fp32"}, hopper)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Defaults() {
		k, err := p.Kernel(c)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, m := range k.Macros {
			want[m.Name] = m.Value
		}
		for _, text := range []string{k.Source, k.Includes["problem.cuh"]} {
			for _, m := range define.FindAllStringSubmatch(text, -1) {
				if value, ok := want[m[1]]; ok && value != m[2] {
					t.Errorf("%s defines %s as %s, op.yaml's default gives %s", k.Template, m[1], m[2], value)
				}
			}
		}
	}
}
