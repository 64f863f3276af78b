package emulator

import (
	"os"
	"strings"
	"testing"

	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// The operators of testdata need what the built-in ones do not: small types, atomics
// on what is read and written, scalars, several outputs, blocks that wait for others. Their whole spaces are
// right on all inputs, and their defaults under the sanitizers.
func TestOperators(t *testing.T) {
	needCompiler(t)
	for name, shapes := range map[string][]string{
		"transpose": {"1x1", "33x70", "64x32"}, "softmax": {"3x1", "5x257", "2x64"}, "histogram": {"1", "1003", "40000"}, "layer_norm": {"1x3", "7x65"},
		"scan": {"1", "5003"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := operator.Load(os.DirFS("testdata"), name)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range shapes {
				shape, err := operator.ParseShape(text)
				if err != nil {
					t.Fatal(err)
				}
				p, err := o.Bind(operator.Request{Shape: shape}, Limits())
				if err != nil {
					t.Fatal(err)
				}
				t.Run(text, func(t *testing.T) { verifySpace(t, p, i == 1) })
			}
		})
	}
}

// verifySpace verifies each variant of a problem, and the defaults under the
// sanitizers too.
func verifySpace(t *testing.T, p *operator.Problem, sanitize bool) {
	proto := device.ProtocolFor(p.Operator)
	b := openBench(t, Options{CacheDir: testCache}, p, proto)
	s, err := p.Space(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var variants []device.Variant
	for i := range s.Len() {
		kernel, err := p.Kernel(s.At(i))
		if err != nil {
			t.Fatal(err)
		}
		variants = append(variants, device.Variant{Configuration: s.At(i), Kernel: kernel, Binary: b.compile(t, kernel)})
	}
	for _, inputs := range p.Operator.Inputs {
		if err := b.session.Refill(t.Context(), device.Inputs{Distribution: inputs, Seed: 4}); err != nil {
			t.Fatal(err)
		}
		for _, v := range variants {
			o, launches, err := b.session.Check(t.Context(), v, device.Check{Launches: 3, Exact: p.Operator.Deterministic})
			if err != nil || o.Status != trial.OK || launches != 3 {
				t.Errorf("%s on %s: %s after %d launches: %s %v", v.Configuration, inputs, o.Status, launches, o.Message, err)
			}
		}
	}
	if !sanitize || strings.HasPrefix(compilers[true].Version(), "clang") {
		return
	}
	b = openBench(t, Options{Sanitize: true, CacheDir: testCache}, p, proto)
	for _, c := range p.Defaults(t.Context()) {
		if o := b.evaluate(t, c.Template); o.Status != trial.OK {
			t.Errorf("%s sanitized: %s: %s", c, o.Status, o.Message)
		}
	}
}
