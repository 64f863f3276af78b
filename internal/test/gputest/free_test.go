package gputest

import (
	"slices"
	"strings"
	"testing"

	"autotune/device/emulator"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
)

// freeCases are problems whose kernels can read some dimensions at run time instead of being compiled for them. The
// tests run the kernel of the first problem of each list in freeCases, which may serve the list's larger problems, too.
var freeCases = map[string][][]string{
	"conv1d": {{"2x16x40 c_out=24 kernel=3 padding=1", "5x16x57 c_out=24 kernel=3 padding=1"}},
	"conv2d": {
		{"2x16x10x12 c_out=24 padding=1", "3x16x13x16 c_out=24 padding=1", "7x16x31x44 c_out=24 padding=1"},
		{"2x16x6x8 c_out=24 kernel=1 type=bf16", "3x16x9x16 c_out=24 kernel=1 type=bf16"},
	},
	"conv3d":           {{"1x16x4x6x8 c_out=16 padding=1", "2x16x5x7x12 c_out=16 padding=1"}},
	"conv_transpose1d": {{"2x16x20 c_out=16 kernel=4 stride=2 padding=1", "3x16x33 c_out=16 kernel=4 stride=2 padding=1"}},
	"conv_transpose2d": {{"2x16x6x8 c_out=16 kernel=4 stride=2 padding=1 epilogue=silu(x)*s[c]+r[n,c,h,w]", "3x16x7x12 c_out=16 kernel=4 stride=2 padding=1 epilogue=silu(x)*s[c]+r[n,c,h,w]"}},
	"conv_transpose3d": {{"1x16x4x4x4 c_out=16 kernel=2 stride=2", "2x16x5x3x8 c_out=16 kernel=2 stride=2"}},
	"depthwise_conv2d": {{"2x3x12x16 kernel=3 epilogue=silu(x+q[c])*u[n,c]+r[n,c,h,w]", "3x5x17x20 kernel=3 epilogue=silu(x+q[c])*u[n,c]+r[n,c,h,w]"}},
	"matmul":           {{"2x48x64x40", "3x130x64x72"}, {"2x48x64x40 type=f16 epilogue=gelu(x+d[n])*s[]+r[batch,m,n,f32]", "3x130x64x72 type=f16 epilogue=gelu(x+d[n])*s[]+r[batch,m,n,f32]"}, {"1x6x128x40 transpose_b=true type=f16", "3x7x128x72 transpose_b=true type=f16"}},
	"max_pool2d": {
		{"2x3x12x16 kernel=2 epilogue=x*u[n,c]+r[n,c,h,w]", "3x5x17x20 kernel=2 epilogue=x*u[n,c]+r[n,c,h,w]"},
		{"2x3x9x15 kernel=3 stride=2 padding=1", "3x5x17x21 kernel=3 stride=2 padding=1"}, // rows of odd width
		{"2x8x9x15 kernel=3 stride=2 padding=1 layout=nhwc", "3x8x17x21 kernel=3 stride=2 padding=1 layout=nhwc"},
	},
	"avg_pool2d": {
		{"2x3x12x16 kernel=2", "3x5x17x20 kernel=2"},
		{"2x3x5x7 kernel=5x7 epilogue=x*u[n,c]+r[n,c,h,w]", "3x7x5x7 kernel=5x7 epilogue=x*u[n,c]+r[n,c,h,w]"}, // one window
	},

	// Operators that reduce or scan rows share kernel skeletons, so the tests run one such operator for each skeleton.
	"softmax":     {{"3x33x1", "7x33x1"}},
	"sum":         {{"3x33x5", "7x33x5"}},
	"cumsum":      {{"3x33x1", "7x33x1"}},
	"group_norm":  {{"3x6x33 groups=2", "7x6x33 groups=2"}},
	"elementwise": {{"3x33x5", "7x33x5"}, {"3x33x5 mean=true", "7x33x5 mean=true"}},

	"scaled_dot_product_attention": {{"1x4x70x90x16 type=f16 heads_kv=2 causal=true", "3x4x133x65x16 type=f16 heads_kv=2 causal=true"}},
}

// A kernel that takes dimensions at run time is correct, and its code is the same for every shape that satisfies its
// conditions. Kernels for two shapes differ only in the struct of run-time sizes.
func TestFreeDimensions(t *testing.T) {
	d := openEmulator(t, emulator.Options{})
	v := &prover{device: d, few: true}
	sources := map[string]bool{} // of templates that cases prove
	for _, o := range operators(t) {
		for _, template := range o.Templates {
			sources[template.Source.File] = sources[template.Source.File] || freeCases[o.Name] != nil
		}
	}
	for _, o := range operators(t) {
		t.Run(o.Name, func(t *testing.T) {
			alone := slices.ContainsFunc(o.Templates, func(template *operator.Template) bool {
				return len(template.Free) > 0 && !sources[template.Source.File]
			})
			open := slices.ContainsFunc(o.Templates, func(template *operator.Template) bool { return len(template.Free) > 0 })
			shared := 0
			for _, rows := range freeCases[o.Name] {
				all := slices.DeleteFunc(slices.Clone(modes(o, rows[0])), func(mode string) bool {
					_, variant := o.MathVariants[mode]
					return variant // the kernels are the same except for their headers
				})
				for i, template := range o.Templates {
					for n := range all { // proves one of the shapes that the kernel serves, in turn
						run := endurance.Full() || (i+len(o.Name))%8 == 0
						served, same := proveFree(t, v, o, rows, all[(i+n)%len(all)], template, run)
						shared += same
						if served {
							break
						}
					}
				}
			}
			if framed := freeCases[o.Name] == nil && (ofRows(o) || !alone); open && shared == 0 && !framed {
				t.Error("no kernel of its templates with free dimensions serves a second shape")
			}
		})
	}
}

// proveFree checks that the default kernels of a template which reads free dimensions at run time have the same code
// for all rows that they serve. If run is true, proveFree also runs the kernels for the first row. The result shared is
// the number of test problems (rows) for which proveFree compared the code.
func proveFree(t *testing.T, v *prover, o *operator.Operator, rows []string, mode string, template *operator.Template, run bool) (served bool, shared int) {
	limits := v.device.Info().Limits
	part := freePart(t, o, rows[0], mode, template, limits)
	p := part.Problem
	if _, err := part.Space(t.Context()); err != nil || len(template.Free) == 0 {
		return false, 0 // the template does not serve this problem
	}
	if run {
		v.proveAlone(t, part)
	}
	for _, c := range part.Defaults(t.Context()) {
		if c.Template != template.Name || !p.Admits(c) {
			continue
		}
		for _, row := range rows[1:] {
			if other := freePart(t, o, row, mode, template, limits).Problem; satisfies(t, p, other, c) {
				sameCode(t, p, other, c)
				shared++
			}
		}
	}
	return true, shared
}

func freePart(t *testing.T, o *operator.Operator, row, mode string, template *operator.Template, limits operator.Limits) *operator.Part {
	t.Helper()
	p, err := bind(o, row, mode, limits)
	must.OK(t, err)
	r := p.Record().Request()
	r.Free = template.Free
	if p, err = o.Bind(r, limits); err != nil {
		t.Fatal(err)
	}
	part, err := p.Part(operator.Restriction{Templates: []string{template.Name}})
	must.OK(t, err)
	return part
}

// satisfies tells whether a configuration's kernel for one problem also serves another problem.
func satisfies(t *testing.T, p, other *operator.Problem, c space.Configuration) bool {
	t.Helper()
	f, err := p.Formulas(c)
	must.OK(t, err)
	_, ok := f.At(other.Values)
	return ok
}

// sameCode fails the test unless two problems have the same kernel code.
func sameCode(t *testing.T, p, other *operator.Problem, c space.Configuration) {
	t.Helper()
	a, err := p.Kernel(c)
	must.OK(t, err)
	b, err := other.Kernel(c)
	must.OK(t, err)
	if code(a) != code(b) || !slices.Equal(a.Macros, b.Macros) {
		t.Errorf("%s: the code for %s is not that for %s", c, other, p)
	}
}

// code returns a kernel's source without the contents of its struct of run-time sizes.
func code(k operator.Kernel) string {
	head, rest, _ := strings.Cut(k.Source, operator.SizesSymbol+" = {")
	_, tail, _ := strings.Cut(rest, "}")
	return head + tail
}
