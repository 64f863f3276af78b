package pytorch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testtogether"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
)

// examples returns requests for the operator's example: in all math modes, and in fp32 for each type other than f32.
func examples(o *operator.Operator) []operator.Request {
	all := []operator.Request{{Shape: o.Example}}
	for _, a := range o.Arguments {
		if a.TypeBy == "" {
			continue
		}
		for _, word := range a.Types {
			if word != operator.F32 {
				all = append(all, operator.Request{Shape: o.Example, Parameters: map[string]string{a.TypeBy: string(word)}, Math: "fp32"})
			}
		}
		break
	}
	return all
}

// winners makes a winner of each default configuration for a problem: in the math mode of the request or, if it has
// none, in all math modes.
func winners(t *testing.T, o *operator.Operator, r operator.Request) []cudasource.Winner {
	t.Helper()
	return winnersOn(t, emulator.Limits(), o, r)
}

// winnersOn makes the same winners as the function winners, but for a GPU with the given limits.
func winnersOn(t *testing.T, limits operator.Limits, o *operator.Operator, r operator.Request) []cudasource.Winner {
	t.Helper()
	var all []cudasource.Winner
	modes := o.MathModes
	if r.Math != "" {
		modes = []string{r.Math}
	}
	for _, mode := range modes {
		r.Math = mode
		p, err := o.Bind(r, limits)
		must.OK(t, err)
		defaults := p.Defaults(t.Context())
		if _, variant := o.MathVariants[mode]; variant {
			defaults = defaults[:1] // the other templates differ in the same header
		}
		for _, c := range defaults {
			all = append(all, winner(t, limits, p, c))
		}
	}
	return all
}

// winner makes a configuration the winner of a problem.
func winner(t *testing.T, limits operator.Limits, p *operator.Problem, c space.Configuration) cudasource.Winner {
	t.Helper()
	k, err := p.Kernel(c)
	must.OK(t, err)
	best := bestconfig.Document{
		Operator: p.Operator.Name, Configuration: c, Launches: k.Launches, Macros: map[string]string{},
		Problem:    p.Record(),
		Device:     device.Info{Name: "NVIDIA H100", Kind: device.CUDA},
		Time:       trial.Timing{Median: 1.5},
		RecordedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	for _, m := range k.Macros {
		best.Macros[m.Name] = m.Value
	}
	w, err := cudasource.Of(best, p.Operator, limits, "autotune test")
	must.OK(t, err)
	return w
}

func export(t *testing.T, w cudasource.Winner) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, Write(&b, w))
	return b.String()
}

// exportTo exports a winner as a module, writes it to a file and returns the path.
func exportTo(t *testing.T, path string, w cudasource.Winner) string {
	t.Helper()
	must.OK(t, os.WriteFile(path, []byte(export(t, w)), 0o644))
	return path
}

// pythonSays runs Python, which can import the modules in testdata, and returns its output.
func pythonSays(t *testing.T, in io.Reader, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "python3", arguments...)
	command.Env = append(os.Environ(), "PYTHONPATH=testdata", "PYTHONDONTWRITEBYTECODE=1")
	command.Stdin, command.Stderr = in, os.Stderr
	output, err := command.Output()
	must.OK(t, err)
	return string(output)
}

// forbidden lists the patterns that KernelBench's checker treats as tricks, wherever they occur. Even a module's
// comments must not contain forbidden patterns, since KernelBench's checker does not recognize all comments.
var forbidden = map[string]*regexp.Regexp{
	"a block that hides errors":       regexp.MustCompile(`\btry\s*:|\bexcept\b`),
	"the word of an empty body":       regexp.MustCompile(`\bpass\b`),
	"threads":                         regexp.MustCompile(`\bthreading\b|\bmultiprocessing\b|concurrent\.futures|PoolExecutor`),
	"streams of its own":              regexp.MustCompile(`cuda\.Stream|torch\.cuda\.stream|wait_stream|record_stream`),
	"a tensor subclass":               regexp.MustCompile(`_make_subclass|\(\s*(torch\.)?Tensor\s*\):`),
	"PyTorch's layers by name":        regexp.MustCompile(`torch\.nn\.[A-Z]`),
	"PyTorch's functions":             regexp.MustCompile(`nn\.functional|\bF\.\w`),
	"PyTorch's operators":             regexp.MustCompile(`\btorch\.(mm|bmm|matmul|einsum|linear|conv\w*|\w+_pool[123]d|\w+_norm|normalize|\w*softmax|\w+_loss|cross_entropy|kl_div|cosine_similarity|\w*elu|\w*tanh|\w*sigmoid|silu|mish|softsign|softplus|logsumexp|clamp|dropout)\b`),
	"half precision":                  regexp.MustCompile(`__float2half|__half\b|\.half\(|\bfloat16\b`),
	"waiting for the GPU":             regexp.MustCompile(`(?i)synchronize\(|\.item\(|\.cpu\(`),
	"timing functions":                regexp.MustCompile(`elapsed_time|perf_counter|cuda\.Event`),
	"a macro that nvcc leaves alone":  regexp.MustCompile(`#\s*pragma unroll\b.*\b[A-Z][A-Z_]+\b`),
	"a type that nvcc takes for void": regexp.MustCompile(`\bstatic auto \w+\(`), // in a constructor's initializer list, for the host
	"a name that a namespace hides":   regexp.MustCompile(`(?m)(^|[ (<,&*=!])::[A-Za-z_]`),
	"an include of another folder":    regexp.MustCompile(`#\s*include\s*"`),
}

// mathLine matches the line by which other programs read a module's math mode.
var mathLine = regexp.MustCompile(`(?m)^MATH = "\w+"`)

func TestExportedFilesKeepTheRules(t *testing.T) {
	testneeds.Nothing(t)
	known := map[string]bool{}
	for _, o := range withPyTorch(t) {
		for _, r := range endurance.Some(examples(o), 1) {
			for _, w := range endurance.Some(winners(t, o, r), 3) {
				checkRules(t, w, known)
			}
		}
	}
}

// checkRules checks that a module contains no forbidden pattern and all necessary parts; it skips paragraphs that an
// earlier module contained, too.
func checkRules(t *testing.T, w cudasource.Winner, known map[string]bool) {
	t.Helper()
	text, half := export(t, w), w.Problem.Arguments[0].Type == operator.F16
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if id := fmt.Sprint(half, paragraph); known[id] {
			continue
		} else {
			known[id] = true
		}
		for what, rule := range forbidden {
			if what == "half precision" && half {
				continue // half precision is no trick in such a module
			}
			if found := rule.FindString(paragraph); found != "" {
				t.Errorf("%s: %q looks like %s; say it in other words, in comments too", w.Kernel.Launches[0].Entry, found, what)
			}
		}
	}
	if said := mathLine.FindAllString(text, -1); len(said) != 1 || said[0] != fmt.Sprintf("MATH = %q", w.Problem.Math) {
		t.Errorf("%s in %s: the module's math mode is %q", w.Kernel.Launches[0].Entry, w.Problem.Math, said)
	}
	for _, must := range []string{"class ModelNew(nn.Module)", "cpp_extension.load(", "__global__", "_cuda_getCurrentRawStream", "torch.cuda.device(", "cudaGetLastError"} {
		if !strings.Contains(text, must) {
			t.Errorf("%s: there is no %s", w.Kernel.Launches[0].Entry, must)
		}
	}
}

// All tensors of an exported module, except workspaces, must have the element type of its problem, and the Python code
// must use PyTorch's name of the type.
func TestModulesOfOneType(t *testing.T) {
	o, err := operator.Find("matmul")
	must.OK(t, err)
	for _, r := range examples(o) {
		r.Math = "fp32"
		for _, w := range winners(t, o, r) {
			text := export(t, w)
			for _, kind := range []operator.Type{operator.F32, operator.BF16, operator.F16} {
				e := element{Type: kind, Torch: torchTypes[kind]}
				is := e.Type == w.Problem.Output().Type
				for _, said := range []string{
					fmt.Sprintf("TYPE = %q\nDTYPE = torch.%s\n", e.Type, e.Torch),
					fmt.Sprintf("tensor.dtype is not torch.%s or", e.Torch),
					fmt.Sprintf("the kernel computes in %s, so call .to(torch.%[1]s) first\"", e.Torch),
					fmt.Sprintf("#define TYPE %s\n", e.Type),
				} {
					if strings.Contains(text, said) != is {
						t.Errorf("%s of %s: whether it says %q", w.Kernel.Template, w.Problem.Output().Type, said)
					}
				}
			}
			if !strings.Contains(text, "first.new_empty(size, dtype=torch.float32)") {
				t.Errorf("%s of %s: workspaces are not float", w.Kernel.Template, w.Problem.Output().Type)
			}
		}
	}
}

// moduleCase is a problem to export, with further calls of the exported module.
type moduleCase struct {
	operator    string
	shape       string
	set         map[string]string
	constructor string
	arguments   string // the result of get_init_inputs
	calls       []call
}

type call struct {
	arguments, shape string // JSON; a list of shapes for several tensors
	want             string // output shape, after "tuned " where the tuned kernel gives it, or a part of the complaint
}

// moduleCases reads testdata/modules.txt. In the test's file of problems, each line that is not indented is a problem.
// The indented lines below a problem are the constructor, the result of get_init_inputs, and calls in the form
// "ARGUMENTS of SHAPE: WANT".
func moduleCases(t *testing.T) (all []moduleCase) {
	t.Helper()
	text := must.Read(t, "testdata/modules.txt")
	for line := range strings.Lines(string(text)) {
		line, nested := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "  ")
		if !nested {
			words := strings.Fields(line)
			c := moduleCase{operator: words[0], shape: words[1], set: map[string]string{}}
			for _, setting := range words[2:] {
				name, value, _ := strings.Cut(setting, "=")
				c.set[name] = value
			}
			all = append(all, c)
			continue
		}
		c := &all[len(all)-1]
		if constructor, ok := strings.CutPrefix(line, "constructor "); ok {
			c.constructor = constructor
		} else if arguments, ok := strings.CutPrefix(line, "arguments "); ok {
			c.arguments = arguments
		} else {
			arguments, rest, _ := strings.Cut(line, " of ")
			shape, want, _ := strings.Cut(rest, ": ")
			c.calls = append(c.calls, call{arguments, shape, want})
		}
	}
	return all
}

// answer is what the Python script that inspects an exported module reports about one call of the module.
type answer struct {
	Error    string
	Sizes    []int64
	Tuned    bool
	Returned []int64
	Made     int // number of tensors made, including views
}

// Without a GPU, the test runs the Python code of exported files: signatures, sizes, shapes, the kernel's choice.
func TestModules(t *testing.T) {
	testneeds.Torch.Need(t)
	moduleCases := moduleCases(t)
	var requests bytes.Buffer
	var tuned []cudasource.Winner
	dir := t.TempDir()
	for i, c := range moduleCases {
		o, err := operator.Find(c.operator)
		must.OK(t, err)
		shape, err := operator.ParseShape(c.shape)
		must.OK(t, err)
		w := winners(t, o, operator.Request{Shape: shape, Parameters: c.set, Math: o.MathModes[0]})[0]
		tuned = append(tuned, w)
		path := exportTo(t, filepath.Join(dir, fmt.Sprintf("case%d.py", i)), w)
		var calls []string
		for _, call := range c.calls {
			calls = append(calls, fmt.Sprintf("[%s, %s]", call.arguments, call.shape))
		}
		fmt.Fprintf(&requests, "{\"path\": %q, \"calls\": [%s]}\n", path, strings.Join(calls, ", "))
	}
	output := pythonSays(t, &requests, "testdata/inspect_module.py")
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i, c := range moduleCases {
		t.Run(c.operator+" "+c.shape, func(t *testing.T) { checkModule(t, c, tuned[i].Problem, lines[i]) })
	}
}

func checkModule(t *testing.T, c moduleCase, p *operator.Problem, line string) {
	var got struct {
		Constructor string
		Arguments   json.RawMessage
		Inputs      [][]int64
		Types       []string // types of the inputs
		Answers     []answer
		Flags       [][]string // compiler flags of each compilation
		TunedSizes  []int64    `json:"tuned_sizes"`
	}
	must.OK(t, json.Unmarshal([]byte(line), &got))
	if c.constructor != "" && got.Constructor != c.constructor {
		t.Errorf("the constructor is %s\nwant               %s", got.Constructor, c.constructor)
	}
	if arguments := strings.ReplaceAll(string(got.Arguments), " ", ""); arguments != c.arguments {
		t.Errorf("get_init_inputs gives %s, want %s", arguments, c.arguments)
	}
	inputs := [][]int64{p.Arguments[0].Shape}
	for i, a := range p.Arguments[1:] {
		beside := i+1 >= len(p.Arguments)-len(p.Operator.Epilogue())
		passed := c.operator == "matmul" || c.operator == "elementwise" || beside
		if a.Elements > 0 && (a.Role == operator.Input || passed && a.Role == operator.Weight) {
			inputs = append(inputs, a.Shape)
		}
	}
	if !reflect.DeepEqual(got.Inputs, inputs) {
		t.Errorf("get_inputs gives tensors of %v, want %v", got.Inputs, inputs)
	}
	if e, err := elementOf(p); err != nil || !slices.Equal(got.Types, []string{e.Torch}) {
		t.Errorf("get_inputs gives tensors of %v for a problem of %s, %v", got.Types, p.Arguments[0].Type, err)
	}
	if !reflect.DeepEqual(got.Flags, [][]string{{"-O3", "-gencode=arch=compute_90a,code=sm_90a"}}) {
		t.Errorf("compiled with %v, want once for the GPU at hand, sm_90a", got.Flags)
	}
	var want []int64
	for _, name := range cudasource.Sizes(p) {
		n, _ := p.Values[name].AsInt()
		want = append(want, n)
	}
	integers := got.TunedSizes[:max(0, len(got.TunedSizes)-len(cudasource.Reals(p.Operator)))]
	if first := got.Answers[0]; !first.Tuned || !slices.Equal(integers, want) || !reflect.DeepEqual(first.Returned, p.Output().Shape) {
		t.Errorf("the tuned problem, of the sizes %v, is launched as %+v\nwant sizes %v, output %v", got.TunedSizes, first, want, p.Output().Shape)
	}
	for i, call := range c.calls {
		a := got.Answers[1+i]
		switch {
		case !strings.HasPrefix(strings.TrimPrefix(call.want, "tuned "), "["):
			if !strings.Contains(a.Error, call.want) {
				t.Errorf("%s of %s: %q\nwant %q", call.arguments, call.shape, a.Error, call.want)
			}
		case a.Error != "":
			t.Errorf("%s of %s: %s", call.arguments, call.shape, a.Error)
		default:
			want, tuned := strings.CutPrefix(call.want, "tuned ")
			if strings.ReplaceAll(fmt.Sprint(a.Returned), " ", ",") != want || a.Tuned != tuned {
				t.Errorf("%s of %s gives %v, tuned %v; want %s", call.arguments, call.shape, a.Returned, a.Tuned, call.want)
			}
			if c.operator == "elementwise" && c.set["f"] != "x*w+b" && a.Made != 1 { // b is broadcast in this case
				t.Errorf("%s of %s makes %d tensors, want the output alone", call.arguments, call.shape, a.Made)
			}
		}
	}
	if last := got.Answers[len(got.Answers)-1]; !strings.Contains(last.Error, p.Arguments[0].Name+" is on meta; the kernel runs on a GPU, so call .cuda() first") {
		t.Errorf("a tensor that is on no GPU gives %+v", last)
	}
}

// The kernels of exported modules and .cu files must compile for a GPU. For each template, the module is compiled in
// one math mode and the .cu file in another; if the operator has only one mode, templates alternate between module and
// .cu file. The test checks the code without generating machine code, since the tests of package templates do that.
func TestExportedKernelsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for some seconds")
	}
	compiler, err := compile.NVRTC(t.Context())
	testneeds.NVRTC.Opened(t, err, compile.ErrMissing)
	defer compiler.Close()
	compiler = compile.Cached(testcache.Dir(), compiler)
	limits := emulator.Limits()
	limits.Arch, limits.Target = 80, "sm_80" // which every version of NVRTC supports
	seen := map[string]int{}                 // uses of each kernel; 1-3D convolutions share kernels
	var together testtogether.Source
	added := 0
	for _, o := range withPyTorch(t) {
		var all []cudasource.Winner
		for _, r := range examples(o) {
			all = append(all, winnersOn(t, limits, o, r)...)
		}
		for i, w := range endurance.Some(all, 4) {
			kernel := fmt.Sprint(o.Name, w.Kernel.Template, w.Problem.Output().Type)
			for _, shared := range []string{"packed_conv.cuh", "convolution_direct.cu"} {
				if w.Kernel.Includes[shared] != "" || w.Kernel.File == shared {
					kernel = shared + w.Kernel.Template + strings.TrimRight(o.Name, "123d")
				}
			}
			turn := seen[kernel]
			seen[kernel]++
			if turn > 1 {
				continue
			}
			if len(o.MathModes) == 1 {
				turn = i % 2
			}
			file, text := "module", kernelsOfModule(t, w)
			if turn == 1 && w.Problem.Output().Type == operator.F32 { // other types' files include CUDA's headers
				file, text = "cu", kernelsOfFile(t, w)
			}
			together.Add(o.Name+"."+file, testtogether.Hidden(text, added), nil, nil)
			added++
		}
	}
	k := operator.Kernel{Launches: operator.Launches{{Entry: "nothing"}}, File: "exported.cu", Includes: together.Includes,
		Source: uncalled + together.Text()}
	_, err = compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "sm_80", Timeout: 5 * time.Minute})
	var failed *compile.Error
	if errors.As(err, &failed) {
		t.Log(failed.Log)
	}
	if err != nil {
		t.Error(err)
	}
}

// uncalled turns kernels into functions that nothing calls, so that NVRTC generates no code for them.
const uncalled = `
extern "C" __global__ void nothing(float*) {}
#undef __global__
#define __global__ __device__
#undef __launch_bounds__
#define __launch_bounds__(...)
`

// kernelsOfModule returns a module's code for the GPU, since the host's code would need PyTorch's headers.
func kernelsOfModule(t *testing.T, w cudasource.Winner) string {
	t.Helper()
	v, err := newView(w)
	must.OK(t, err)
	general, err := fill("general.cu.tmpl", v)
	must.OK(t, err)
	tuned, err := fill("tuned.cu.tmpl", v)
	must.OK(t, err)
	return general + tuned
}

func kernelsOfFile(t *testing.T, w cudasource.Winner) string {
	t.Helper()
	var alone bytes.Buffer
	must.OK(t, w.WriteCUDA(&alone))
	return alone.String()
}

// A module must allocate the workspaces that its launches take, and a .cu file must ask for them. Workspaces for
// split-K's partial sums are needed only if k is split.
func TestWorkspacesOfTheLaunches(t *testing.T) {
	o, err := operator.Find("matmul")
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: []int64{1, 128, 2048, 256}, Math: "fp32"}, emulator.Limits())
	must.OK(t, err)
	for _, c := range p.Defaults(t.Context()) {
		sums := map[string]string{"pipelined_gemm": "partial_sums", "gathered_gemm": "gathered_sums"}[c.Template]
		if sums == "" {
			continue
		}
		for _, splits := range []int64{1, 4} {
			of := space.Configuration{Template: c.Template, Values: slices.Clone(c.Values)}
			for i, v := range of.Values {
				if v.Name == "splits" {
					of.Values[i].Value = expr.Int(splits)
				}
			}
			w := winner(t, emulator.Limits(), p, of)
			w.Kernel.Launches = slices.Clone(w.Kernel.Launches)
			w.Kernel.Launches[0].Maps = []operator.TensorMap{{At: 1, Words: [7]int64{1, -1}}}
			const words = ", 0x1ull, 0xffffffffffffffffull, 0x0ull, 0x0ull, 0x0ull, 0x0ull, 0x0ull}, }; // tensor maps, passed by value\n"
			var alone bytes.Buffer
			must.OK(t, w.WriteCUDA(&alone))
			for where, texts := range map[string][]string{
				export(t, w): {
					"void* " + sums + ", ", "void* arguments[] = {&" + sums + ", &written, nullptr};",
					"const cudaLaunchConfig_t config = {dim3(32, 1, 1), dim3(256, 1, 1), 0, stream, attributes, 1};"},
				alone.String(): {"float* " + sums + ", cudaStream_t stream)", "void* arguments[] = {&" + sums + ", &y, nullptr};"},
			} {
				if !regexp.MustCompile(`unsigned long long maps\[\]\[16\] = \{\{\(unsigned long long\)(t1|b)` + regexp.QuoteMeta(words) + ` +void\* arguments\[\] = \{&(t0|a), maps\[0\], &`).MatchString(where) {
					t.Errorf("%s passes no tensor map in\n%s", c.Template, where)
				}
				for _, text := range texts {
					if strings.Contains(where, text) != (splits > 1) {
						t.Errorf("%s with splits=%d: whether it has %q", c.Template, splits, text)
					}
				}
			}
		}
	}
}

// firstArgument makes a function that changes an operator's first argument.
func firstArgument(change func(*operator.ArgumentSpec)) func(*operator.Operator, *operator.Kernel) {
	return func(o *operator.Operator, _ *operator.Kernel) {
		o.Arguments = slices.Clone(o.Arguments)
		change(&o.Arguments[0])
	}
}

// refuses changes a winner's operator or kernel, and checks that exporting the winner fails with the given message.
func refuses(t *testing.T, w cudasource.Winner, change func(*operator.Operator, *operator.Kernel), want string) {
	t.Helper()
	problem, operator := *w.Problem, *w.Problem.Operator
	change(&operator, &w.Kernel)
	problem.Operator, w.Problem = &operator, &problem
	if err := Write(new(bytes.Buffer), w); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestWriteRefuses(t *testing.T) {
	o, err := operator.Find("max_pool2d")
	must.OK(t, err)
	w := winners(t, o, operator.Request{Shape: o.Example})[0]
	for name, test := range map[string]struct {
		change func(*operator.Operator, *operator.Kernel)
		want   string
	}{
		"an operator without a module": {func(o *operator.Operator, _ *operator.Kernel) { o.PyTorch = nil }, "max_pool2d cannot be a PyTorch module: its op.yaml has no key `pytorch`"},
		"an operator without gradients": {func(o *operator.Operator, _ *operator.Kernel) {
			general := *o.PyTorch
			o.PyTorch, general.Gradients = &general, operator.Source{}
		}, "max_pool2d cannot be a PyTorch module: the `files` of `pytorch` in its op.yaml lack a module or gradients"},
		"a type of its own":        {firstArgument(func(a *operator.ArgumentSpec) { a.Type, a.TypeBy = operator.F16, "" }), "max_pool2d cannot be a PyTorch module: `x` is of type f16; a module takes tensors of the type that `type` names and gives one"},
		"a workspace":              {firstArgument(func(a *operator.ArgumentSpec) { a.Role = operator.Workspace }), "cannot be a PyTorch module: `x` is of role workspace; "},
		"a scalar":                 {firstArgument(func(a *operator.ArgumentSpec) { a.Role = operator.Scalar }), "cannot be a PyTorch module: `x` is of role scalar; "},
		"two outputs":              {firstArgument(func(a *operator.ArgumentSpec) { a.Role = operator.Output }), "cannot be a PyTorch module: `x` and `y` are both outputs; "},
		"a dimension of no tensor": {func(o *operator.Operator, _ *operator.Kernel) { o.Shape = append([]string{"m"}, o.Shape...) }, "no tensor that is read has the dimension `m` by itself"},
		"a word of Python":         {func(o *operator.Operator, _ *operator.Kernel) { o.Shape = append([]string{"class"}, o.Shape...) }, "`class` is a word of Python"},
		"three quotes":             {func(_ *operator.Operator, k *operator.Kernel) { k.Source += `// """` }, "three quotes in a row"},
		"an include under a condition": {func(_ *operator.Operator, k *operator.Kernel) {
			k.Source = "#if N > 1\n#include \"taps.cuh\"\n#endif\n"
		}, "includes taps.cuh under a condition"},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, w, test.change, test.want) })
	}
}

// A module can have no word parameters, except for the type of its tensors and for their order in memory.
func TestWriteRefusesOtherWords(t *testing.T) {
	o, err := operator.Find("matmul")
	must.OK(t, err)
	w := winners(t, o, operator.Request{Shape: o.Example, Parameters: map[string]string{"type": "bf16"}, Math: "fp32"})[0]
	named := func(name string, of ...int) func(*operator.Operator, *operator.Kernel) {
		return func(o *operator.Operator, _ *operator.Kernel) {
			o.Arguments = slices.Clone(o.Arguments)
			for _, i := range of {
				o.Arguments[i].Type, o.Arguments[i].TypeBy, o.Arguments[i].Types = "", name, []operator.Type{"f32", "f16"}
			}
		}
	}
	const begin = "matmul cannot be a PyTorch module: "
	refuses(t, w, firstArgument(func(a *operator.ArgumentSpec) { a.Type, a.TypeBy = operator.F32, "" }), begin+"`a` is of type f32; a module takes tensors of the type that `type` names and gives one")
	refuses(t, w, named("other", 1), begin+"`b` is of type f32 or f16, by other; a module takes tensors of the type that `type` names")
	refuses(t, w, named("math", 0), begin+"`math` is fp32; a module's tensors are of f32, bf16 or f16")
	refuses(t, w, func(o *operator.Operator, _ *operator.Kernel) {
		o.Parameters = append(slices.Clone(o.Parameters), operator.ParameterSpec{Name: "mode", Type: operator.WordParameter, Choices: []expr.Value{expr.String("up"), expr.String("down")}})
	}, begin+"`mode` is a parameter of words; a module's are numbers")
}

// layouts is a script that calls a module with inputs in both layouts, and prints the kernel and the output's layout.
const layouts = `import json, sys
from importlib import util
import stand_in
spec = util.spec_from_file_location("exported", sys.argv[1])
module = util.module_from_spec(spec)
spec.loader.exec_module(module)
for call in json.loads(sys.argv[2]):
    x = module.laid(module.get_inputs()[0], "nhwc" if call["last"] else "nchw")
    y = module.ModelNew(*module.get_init_inputs(), layout=call["asked"] or None)(x)
    print(json.dumps({"tuned": stand_in.launches[-1]["tuned"], "last": not y.is_contiguous()}))
`

// A module must return its output in the layout that was tuned or requested or, if the layout is auto, in the layout of
// the input. A module may run its tuned kernel only for inputs in the layout that the kernel was tuned for.
func TestModulesKnowLayouts(t *testing.T) {
	testneeds.Torch.Need(t)
	o, err := operator.Find("avg_pool2d")
	must.OK(t, err)
	type call struct {
		Asked string `json:"asked"`
		Last  bool   `json:"last"` // the input lies channels-last
	}
	type outcome struct{ Tuned, Last bool }
	calls := []call{{"", false}, {"", true}, {"auto", false}, {"auto", true}, {"nhwc", false}, {"nchw", true}}
	given, _ := json.Marshal(calls) // plain data cannot fail
	for tuned, want := range map[string][]outcome{
		"nchw": {{true, false}, {true, false}, {true, false}, {false, true}, {false, true}, {true, false}},
		"nhwc": {{true, true}, {true, true}, {false, false}, {true, true}, {true, true}, {false, false}},
	} {
		w := winners(t, o, operator.Request{Shape: []int64{2, 8, 9, 10}, Parameters: map[string]string{"kernel": "3", "layout": tuned}})[0]
		path := exportTo(t, filepath.Join(t.TempDir(), "module.py"), w)
		answers := json.NewDecoder(strings.NewReader(pythonSays(t, nil, "-c", layouts, path, string(given))))
		for i, c := range calls {
			var got outcome
			if err := answers.Decode(&got); err != nil || got != want[i] {
				t.Errorf("tuned for %s, called with %+v: %+v, %v; want %+v", tuned, c, got, err, want[i])
			}
		}
	}
}
