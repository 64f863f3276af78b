package compile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testtogether"
	"autotune/operator"
	"autotune/space"
)

const newest = 90

// gpus lists a GPU of each architecture that every template must compile for.
var gpus = []operator.Limits{
	{Arch: 70, SMs: 80, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 96 << 10, SharedPerSM: 96 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 6 << 20, MemoryBytes: 80 << 30},
	{Arch: 80, SMs: 108, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 163 << 10, SharedPerSM: 164 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 40 << 20, MemoryBytes: 80 << 30},
	{Arch: newest, SMs: 132, MaxThreadsPerBlock: 1024, MaxSharedPerBlock: 227 << 10, SharedPerSM: 228 << 10,
		RegistersPerSM: 65536, WarpSize: 32, L2Bytes: 50 << 20, MemoryBytes: 80 << 30},
}

// largeShapes holds, for each operator, the shape of a large problem of the kind that the operator is used for. An
// operator that is not in the map largeShapes is compiled at its example's shape.
var largeShapes = map[string][]int64{
	"avg_pool1d":       {64, 128, 65536},
	"avg_pool2d":       {16, 64, 2048, 2048},
	"max_pool2d":       {32, 64, 512, 512},
	"conv2d":           {16, 16, 1024, 1024},
	"depthwise_conv2d": {16, 64, 512, 512},
	"matmul":           {1, 16, 4096, 11008},
}

// requestsOf returns the problems that an operator's templates are compiled for. One problem has a small ragged
// shape and one a large shape; further problems cover every other math mode and every other value of a word
// parameter (a parameter whose values are words). Short test runs, and operators that use kernels made for other
// operators, compile only one choice of each word parameter (a parameter whose values are words).
func requestsOf(o *operator.Operator) []operator.Request {
	small := []int64{2, 4, 37, 29}
	if len(o.Shape) == 3 {
		small = []int64{2, 4, 333}
	}
	large := largeShapes[o.Name]
	if large == nil {
		large = o.Example
	}
	var requests []operator.Request
	for n, math := range o.MathModes {
		_, variant := o.MathVariants[math]
		for i, shape := range [][]int64{small, large} {
			fits := len(shape) == len(o.Shape)
			only := len(small) != len(o.Shape)
			if fits && (n == 0 || only && !variant || variant == (i == 0)) { // a variant has the same kernels, but for the rounding
				requests = append(requests, operator.Request{Shape: shape, Math: math})
			}
		}
	}
	for _, spec := range o.Parameters {
		if spec.Type == operator.ExpressionParameter && spec.Later { // the default value leaves the kernels unchanged
			requests = append(requests, operator.Request{Shape: large, Parameters: map[string]string{spec.Name: "gelu(x)", "type": "bf16"}})
			if slices.ContainsFunc(o.Parameters, func(p operator.ParameterSpec) bool { return p.Name == "layout" }) {
				requests = append(requests,
					operator.Request{Shape: large, Parameters: map[string]string{spec.Name: "gelu(x)*s[]", "type": "bf16", "layout": "nhwc"}},
					operator.Request{Shape: large, Parameters: map[string]string{spec.Name: "gelu(x)*s[]"}, Math: o.MathModes[len(o.MathModes)-1]})
			}
		}
		if spec.Type != operator.WordParameter {
			continue
		}
		words := spec.Choices[1:] // the first choice is the default
		guest := slices.ContainsFunc(o.Templates, func(t *operator.Template) bool { return elsewhere(o, t.Name) })
		if !endurance.Full() || guest && (largeShapes[o.Name] == nil || len(o.MathModes) == 1) { // where products have types, both are compiled
			one := len(o.Name) % len(words)
			words = words[one : one+1]
		}
		for _, word := range words {
			requests = append(requests, operator.Request{Shape: large, Parameters: map[string]string{spec.Name: word.String()}})
		}
	}
	return requests
}

type variant struct {
	*operator.Problem
	operator.Kernel
}

// variants returns the kernels to compile for an operator on one GPU; turn is the GPU's index. On the newest GPU every
// template is compiled at its default and, if tests run in full, at a random configuration too. Every source file is
// compiled at a template's default configuration for every math mode and every choice of a word parameter (a parameter
// whose values are words). The reference kernel is compiled only for the operator's first and last problem. On older
// GPUs each template is compiled once, at its default, for one of the problems that it serves, and the reference for
// the first problem. A kernel made for another operator's axes is compiled only in full test runs, for the newest GPU.
// A template that was compiled for an older GPU is compiled again only for the newest GPU, which also covers the code
// for the GPUs between; variants records such templates in the map older.
func variants(t *testing.T, o *operator.Operator, gpu operator.Limits, turn int, older map[string]bool) []variant {
	t.Helper()
	var all []variant
	defaults := map[string][]variant{} // by template
	done := map[string]bool{}          // "mode parameters file" and templates
	requests := requestsOf(o)
	for n, r := range requests {
		p, err := o.Bind(r, gpu)
		must.OK(t, err)
		kind := fmt.Sprint(p.Math, " ", r.Parameters)
		if n == 0 && (gpu.Arch == newest || turn == 0) || n == len(requests)-1 && gpu.Arch == newest {
			k, err := p.Reference()
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			all = append(all, variant{p, k})
		}
		drawn := map[string]space.Configuration{} // by template
		_, rounding := o.MathVariants[p.Math]     // only the rounding differs
		if gpu.Arch == newest && !rounding && endurance.Full() {
			drawn = drawnOf(t, o, p, uint64(n))
		}
		for _, c := range p.Defaults(t.Context()) {
			template, _ := o.Template(c.Template)
			if key := kind + " " + template.Source.File; !done[key] || len(defaults[c.Template]) == 0 || gpu.Arch != newest {
				defaults[c.Template], done[key] = append(defaults[c.Template], variantOf(t, p, c)), true
			}
			if d, found := drawn[c.Template]; found && !done[c.Template] {
				all, done[c.Template] = append(all, variantOf(t, p, d)), true
			}
		}
	}
	for i, template := range o.Templates {
		served := defaults[template.Name]
		if gpu.Arch != newest && older[template.Name] || (gpu.Arch != newest || !endurance.Full()) && elsewhere(o, template.Name) {
			continue
		}
		older[template.Name] = older[template.Name] || len(served) > 0
		if (gpu.Arch != newest || elsewhere(o, template.Name)) && len(served) > 0 {
			one := (turn + i) % len(served)
			served = served[one : one+1]
		}
		all = append(all, served...)
	}
	return all
}

// homes maps a header to the operators that its kernels were made for. Templates of other operators may include a
// header in homes too, but only the operators that homes lists for the header compile its kernels for every problem.
var homes = map[string][]string{
	"packed_conv.cuh": {"conv2d", "conv_transpose2d"},
	"phases.cuh":      {"conv2d", "conv_transpose2d"},
	"channels.cuh":    {"max_pool2d", "depthwise_conv2d"},
	"row_state.cuh":   {"softmax", "sum", "layer_norm"},
}

// elsewhere reports whether a template includes a kernel's header that was made for other operators; the map homes
// lists these headers.
func elsewhere(o *operator.Operator, name string) bool {
	t, _ := o.Template(name)
	for header, operators := range homes {
		if _, included := t.Source.Includes[header]; included && !slices.Contains(operators, o.Name) {
			return true
		}
	}
	return false
}

func variantOf(t *testing.T, p *operator.Problem, c space.Configuration) variant {
	t.Helper()
	k, err := p.Kernel(c)
	if err != nil {
		t.Fatalf("%s, %s: %v", p, c, err)
	}
	return variant{p, k}
}

// drawnOf draws a random configuration of each template that serves a problem and was made for the operator.
func drawnOf(t *testing.T, o *operator.Operator, p *operator.Problem, seed uint64) map[string]space.Configuration {
	t.Helper()
	s, err := p.Space(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	rng := rand.New(rand.NewPCG(1, seed))
	drawn := map[string]space.Configuration{}
	for part := range s.Parts() {
		if first, end := s.Range(part); first < end {
			c := s.At(first + rng.Int64N(end-first))
			if !elsewhere(o, c.Template) {
				drawn[c.Template] = c
			}
		}
	}
	return drawn
}

func TestEveryTemplateCompiles(t *testing.T) {
	c := Cached(testcache.Dir(), openNVRTC(t, runtime.NumCPU()))
	flags := hastyFlags(t, c)
	operators, err := operator.Operators()
	must.OK(t, err)
	older := map[*operator.Operator]map[string]bool{}
	for i, gpu := range gpus {
		if (testing.Short() || !endurance.Full()) && gpu.Arch != newest {
			continue
		}
		gpu.Target = Target(c.Version(), gpu.Arch)
		var all []variant
		for _, o := range operators {
			if older[o] == nil {
				older[o] = map[string]bool{}
			}
			all = append(all, variants(t, o, gpu, i, older[o])...)
		}
		for i := range all {
			all[i].Flags = slices.Concat(all[i].Flags, flags)
		}
		t.Run(fmt.Sprintf("sm_%d", gpu.Arch), func(t *testing.T) {
			t.Parallel()
			compileAll(t, c, all)
		})
	}
}

// compileAll compiles groups of variants in parallel, each group as one source if possible.
func compileAll(t *testing.T, c Compiler, all []variant) {
	t.Helper()
	var group sync.WaitGroup
	for _, some := range groups(all) {
		group.Go(func() {
			if len(some) > 1 && compileTogether(t, c, some) {
				return
			}
			failed := false
			for _, v := range some { // which variant fails, and why
				_, err := c.Compile(t.Context(), requestFor(v, v.Kernel))
				var refused *Error
				switch {
				case errors.Is(err, ErrArch):
					t.Logf("not compiled: %v", err)
				case errors.As(err, &refused):
					t.Errorf("%s: %s %v: %v\n%s", v.Problem, v.Template, v.Macros, err, refused.Log)
				case err != nil:
					t.Errorf("%s: %v", v.Problem, err)
				}
				failed = failed || err != nil
			}
			if !failed && len(some) > 1 {
				t.Errorf("%s: %d variants compile each alone and not together", some[0].Problem, len(some))
			}
		})
	}
	group.Wait()
}

// compileTogether compiles several variants as one source that contains all kernels, and reports its success.
func compileTogether(t *testing.T, c Compiler, some []variant) bool {
	t.Helper()
	var kernels []operator.Kernel
	for _, v := range some {
		kernels = append(kernels, v.Kernel)
	}
	b, err := c.Compile(t.Context(), requestFor(some[0], testtogether.Kernel(kernels)))
	if err != nil {
		return false
	}
	for i, k := range kernels {
		for _, entry := range k.Launches.Entries() {
			if !bytes.Contains(b.Code, fmt.Appendf(nil, ".text.%s", nameTogether(i, entry))) {
				t.Errorf("%s: there is no code of %s", some[i].Problem, entry)
			}
		}
	}
	return true
}

func requestFor(v variant, k operator.Kernel) Request {
	return Request{Kernel: k, Arch: v.Limits.Target, Timeout: mostTogether * DefaultTimeout}
}

// hastyFlags returns flags that shorten compilation for code that nobody runs: the assembler does not optimize, and
// NVVM hardly does. NVIDIA does not document the flag for NVVM's optimization level, so a compiler may refuse the flag.
func hastyFlags(t *testing.T, c Compiler) []string {
	t.Helper()
	flags := []string{"--ptxas-options=-O0", "-Xnvvm=-opt=1"}
	r := good()
	r.Kernel.Flags = flags
	if _, err := c.Compile(t.Context(), r); err != nil {
		return flags[:1]
	}
	return flags
}
