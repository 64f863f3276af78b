package operator_test

import (
	"testing"

	"autotune/operator"
)

// BenchmarkSpace builds the space of one problem of each built-in operator.
func BenchmarkSpace(b *testing.B) {
	operators, err := operator.Operators()
	if err != nil {
		b.Fatal(err)
	}
	h100 := operator.Limits{Arch: 90, Target: "sm_90a", SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 227 << 10, SharedPerSM: 228 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30}
	for _, o := range operators {
		b.Run(o.Name, func(b *testing.B) {
			p, err := o.Bind(operator.Request{Shape: o.Example}, h100)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s, err := p.Space(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(s.Len()), "valid")
			}
		})
	}
}
