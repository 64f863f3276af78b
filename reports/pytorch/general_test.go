package pytorch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testtogether"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// withPyTorch returns the built-in operators that can be exported as modules.
func withPyTorch(t *testing.T) []*operator.Operator {
	t.Helper()
	operators, err := operator.Operators()
	must.OK(t, err)
	var with []*operator.Operator
	for _, o := range operators {
		if o.PyTorch != nil {
			with = append(with, o)
		}
	}
	if len(with) < 5 {
		t.Fatalf("%d operators can be PyTorch modules, want five at least", len(with))
	}
	return with
}

// The exported general kernels must compute what PyTorch computes, whatever the parameters are. One kernel must serve
// all problems of an operator with the same math mode and type. To save time, the test compiles all kernels of an
// operator as one program.
func TestGeneralKernelsMatchPyTorch(t *testing.T) {
	testneeds.Nothing(t)
	d, err := emulator.Open(emulator.Options{CacheDir: testcache.Dir()})
	testneeds.CXX.Opened(t, err, emulator.ErrNoCompiler)
	defer d.Close()
	compiler := d.Compiler()
	for _, o := range withPyTorch(t) {
		v, err := torchvectors.Of(o.Name)
		must.OK(t, err)
		cases := endurance.Some(v.Cases, 4)
		var problems, kernels []*operator.Problem // problems of the cases, and one problem for each kernel
		numbers := map[string]int{}               // each kernel's number
		kind := func(p *operator.Problem) string {
			return fmt.Sprint(p.Math, p.Arguments[0].Type, p.ExpressionMacros())
		}
		for _, c := range cases {
			p, err := o.Bind(operator.Request{Shape: c.Shape, Parameters: c.Parameters, Math: c.Math}, emulator.Limits())
			if err != nil {
				t.Fatalf("%s %s: %v", o.Name, c.Name, err)
			}
			if p.ExpressionMacros() != nil && len(c.Inputs) == 1 {
				p = nil
			}
			if problems = append(problems, p); p == nil {
				continue
			}
			if _, found := numbers[kind(p)]; !found {
				numbers[kind(p)] = len(kernels)
				kernels = append(kernels, p)
			}
		}
		if len(kernels) == 0 {
			continue
		}
		b, err := compiler.Compile(t.Context(), compile.Request{Kernel: generalKernels(t, kernels), Arch: "host"})
		if err != nil {
			t.Fatalf("%s: %v", o.Name, err)
		}
		for i, c := range cases {
			t.Run(strings.Join([]string{o.Name, c.Name, c.Math}, " "), func(t *testing.T) {
				p := problems[i]
				if p == nil {
					t.Skip("the reference, which is the same function, is held against all expressions")
				}
				got := runGeneral(t, b, p, numbers[kind(p)], func(name string) []float32 { return c.Inputs[name] })
				compare(t, p, got, c.Output.Data)
			})
		}
	}
}

var libraryInclude = regexp.MustCompile(`(?m)^#include <.*>`)

// generalKernels puts the exported kernels for some problems of an operator behind one entry point. The entry point
// reads the kernel's number and sizes from a tensor of floats, since kernels on the emulator take only tensors; floats
// represent such small integers exactly.
func generalKernels(t *testing.T, problems []*operator.Problem) operator.Kernel {
	t.Helper()
	var together testtogether.Source
	var libraries, calls strings.Builder // #include lines must precede the namespaces
	tensors := len(cudasource.Taken(problems[0]))
	for n, p := range problems {
		e, err := elementOf(p)
		v := view{Element: e}
		must.OK(t, errors.Join(err, v.tensors(p.Operator), v.general(p)))
		_, written := cudasource.Elements(p)
		var arguments, members []string
		for i, spelled := range cudasource.Taken(p) {
			arguments = append(arguments, fmt.Sprintf("(%s*)t[%d]", spelled, i))
		}
		if len(arguments) != tensors {
			t.Fatalf("%s: takes %d tensors, and others of its operator %d", p, len(arguments), tensors)
		}
		known := cudasource.Sizes(p)
		for i := range known {
			members = append(members, fmt.Sprintf("(long long)sizes[%d]", 1+i))
		}
		for i := range cudasource.Reals(p.Operator) {
			members = append(members, fmt.Sprintf("(double)sizes[%d]", 2+len(known)+i))
		}
		for _, line := range libraryInclude.FindAllString(v.General, -1) {
			fmt.Fprintln(&libraries, line)
		}
		call := fmt.Sprintf("__device__ void call(const void* const* t, const float* sizes, void* written) {\n    every_element(%s, (%s*)written, Sizes{%s}, (long long)sizes[%d]);\n}\n",
			strings.Join(arguments, ", "), written, strings.Join(members, ", "), 1+len(known))
		together.Add(fmt.Sprintf("general%d.cuh", n), v.GeneralDefines+v.General+v.EveryElement+call, nil, nil)
		fmt.Fprintf(&calls, "    if (sizes[0] == %d) %s::call(t, sizes, written);\n", n, testtogether.Namespace(n))
	}
	var names, parameters []string
	for i := range tensors {
		names = append(names, fmt.Sprintf("t%d", i))
		parameters = append(parameters, fmt.Sprintf("const void* t%d", i))
	}
	entry := fmt.Sprintf("extern \"C\" __global__ void general(%s, const float* sizes, void* written) {\n    const void* const t[] = {%s};\n%s}\n",
		strings.Join(parameters, ", "), strings.Join(names, ", "), &calls)
	return operator.Kernel{Operator: problems[0].Operator.Name, Template: "general", Launches: operator.Launches{{Entry: "general"}},
		File: "general.cu", Source: libraries.String() + together.Text() + entry, Includes: together.Includes}
}

func runGeneral(t *testing.T, b *compile.Binary, p *operator.Problem, kernel int, input func(string) []float32) []float32 {
	t.Helper()
	var tensors []emulator.HostTensor
	for _, spec := range p.Arguments {
		if spec.Role.Filled() {
			tensors = append(tensors, emulator.HostTensorOf(spec, input(spec.Name)))
		}
	}
	numbers := []float32{float32(kernel)}
	for _, name := range cudasource.Sizes(p) {
		n, _ := p.Values[name].AsInt()
		numbers = append(numbers, float32(n))
	}
	numbers = append(numbers, float32(p.Output().Elements))
	for _, name := range cudasource.Reals(p.Operator) {
		n, _ := p.Values[name].AsFloat()
		numbers = append(numbers, float32(n))
	}
	output := emulator.HostTensorOf(p.Output(), make([]float32, p.Output().Elements))
	tensors = append(tensors, emulator.HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, numbers), output)
	// The launch has fewer threads than the output has elements, so each thread must compute several elements.
	launch := operator.Launch{Grid: [3]int64{2, 1, 1}, Block: [3]int64{32, 1, 1}}
	if err := emulator.Run(context.Background(), b, launch, tensors); err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	return output.Floats()
}

func compare(t *testing.T, p *operator.Problem, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, PyTorch gives %d", p, len(got), len(want))
	}
	atol, rtol := min(p.Output().ATol, 1e-5), p.Output().RTol
	if p.Output().Type == operator.F32 { // narrower types may round to the other neighbour
		rtol = min(rtol, 1e-5)
	}
	for i, w := range want {
		g := got[i]
		if g == w || g != g && w != w || math.Abs(float64(g)-float64(w)) <= atol+rtol*math.Abs(float64(w)) {
			continue
		}
		t.Fatalf("%s: element %d is %g, PyTorch's is %g", p, i, g, w)
	}
}

// The macros of the general kernel must not be defined in the code that follows it in the file.
func TestGeneralKernelLeavesNoMacros(t *testing.T) {
	for _, o := range withPyTorch(t) {
		v, err := newView(winners(t, o, operator.Request{Shape: o.Example})[0])
		must.OK(t, err)
		if !strings.Contains(v.GeneralUndefines, "#undef SIZES\n") {
			t.Errorf("%s: SIZES outlives the general kernel", o.Name)
		}
		for _, name := range []string{"INFINITY", "NAN"} {
			if strings.Contains(v.GeneralUndefines, "#undef "+name+"\n") {
				t.Errorf("%s: %s belongs to the standard headers", o.Name, name)
			}
		}
	}
}
