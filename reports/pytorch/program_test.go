package pytorch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device/compile"
	"autotune/device/emulator"
	"autotune/internal/lists"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/internal/test/testcache"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/testtogether"
	"autotune/operator"
	"autotune/program"
	"autotune/tuner/cudasource"
)

// stand is what does a kernel's work where there is no GPU: see testdata/run_program.py.
type stand struct {
	Read    [][]int64 `json:"read"`
	Written []int64   `json:"written"`
	Types   []string  `json:"types"`
	Last    bool      `json:"last"`
	Body    string    `json:"body"`
}

// planned is a program with what its regions compute.
type planned struct {
	Program
	stands map[string]stand // by kernel
}

func rowMajor(shape []int64) []int64 { return stridesOf(shape, nil) }

func channelsLast(shape []int64) []int64 { return stridesOf(shape, []int{0, 2, 3, 1}) }

// tensor is a value of float32, dense and row-major.
func tensor(name string, shape ...int64) program.Tensor {
	return program.Tensor{Name: name, Type: "float32", Shape: shape, Strides: rowMajor(shape)}
}

// state is a part of a model.
func state(path string, shape ...int64) program.Tensor {
	t := tensor("p_"+strings.ReplaceAll(path, ".", "_"), shape...)
	t.Path, t.Kind = path, "parameter"
	return t
}

func value(name string) program.Argument { return program.Argument{Value: name} }

func constants(values ...any) (all []program.Argument) {
	for _, v := range values {
		all = append(all, program.Argument{Constant: v})
	}
	return all
}

// node is a call of ATen's with one result.
func node(function string, result program.Tensor, arguments ...program.Argument) program.Node {
	return program.Node{Name: result.Name, Function: "aten." + function, Arguments: arguments, Results: []program.Tensor{result}}
}

// add adds nodes as steps that PyTorch computes.
func (p *planned) add(nodes ...program.Node) {
	for _, n := range nodes {
		p.Plan.Graph.Nodes = append(p.Plan.Graph.Nodes, n)
		p.Plan.Steps = append(p.Plan.Steps, program.Step{Node: &n})
	}
}

// region adds nodes as a region that a kernel computes, whose body is in PyTorch.
func (p *planned) region(t *testing.T, name, of, body string, r operator.Request, inputs []program.Input, nodes ...program.Node) {
	t.Helper()
	o, err := operator.Find(of)
	must.OK(t, err)
	region := program.Region{Name: name, Operator: of, Request: r, Inputs: inputs}
	for _, n := range nodes {
		p.Plan.Graph.Nodes = append(p.Plan.Graph.Nodes, n)
		region.Nodes, region.Output = append(region.Nodes, n.Name), n.Results[0]
	}
	p.Plan.Steps = append(p.Plan.Steps, program.Step{Region: &region})
	w := winners(t, o, r)[0]
	p.Winners[name] = w
	s := stand{Written: w.Problem.Output().Shape, Last: w.Problem.Output().Order != nil, Body: body}
	for _, a := range w.Problem.Arguments {
		if a.Role.Filled() {
			s.Read = append(s.Read, map[bool][]int64{true: a.Shape}[a.Elements > 0])
			s.Types = append(s.Types, torchTypes[a.Type])
		}
	}
	s.Types = append(s.Types, torchTypes[w.Problem.Output().Type])
	p.stands[name] = s
}

func input(argument, value string, shape ...int64) program.Input {
	return program.Input{Argument: argument, Value: value, Shape: shape}
}

func empty(source string) *planned {
	return &planned{Program{Plan: &program.Plan{Graph: &program.Graph{}}, Winners: map[string]cudasource.Winner{}, Source: source}, map[string]stand{}}
}

const begin = "import torch\nimport torch.nn as nn\n\n\nclass Model(nn.Module):\n"

// convolution is a convolution with ReLU and a bias, in an order of memory.
func convolution(t *testing.T, layout string) *planned {
	p := empty(begin + `    """A convolution.

    Forward pass: ReLU, and a bias."""

    def __init__(self, channels):
        super(Model, self).__init__()
        self.conv = nn.Conv2d(channels, 16, 3)
        self.bias = nn.Parameter(torch.randn(16, 1, 1))

    def forward(self, x):
        """Forward pass."""
        x = torch.relu(self.conv(x))
        return x + self.bias

dense = channels = 8

def get_inputs():
    return [torch.rand(2, channels, 9, 9)` + map[string]string{"nhwc": ".to(memory_format=torch.channels_last)"}[layout] + `]

def get_init_inputs():
    return [dense]`)
	x, y := tensor("x", 2, 8, 9, 9), tensor("add", 2, 16, 7, 7)
	body := "torch.conv2d(t0, t1, t2).relu() + t3.view(16, 1, 1)"
	if layout == "nhwc" {
		x.Strides, y.Strides = channelsLast(x.Shape), channelsLast(y.Shape)
	}
	p.Plan.Graph.Inputs, p.Plan.Graph.Outputs = []program.Tensor{x}, []string{"add"}
	p.Plan.Graph.State = []program.Tensor{state("conv.weight", 16, 8, 3, 3), state("conv.bias", 16), state("bias", 16, 1, 1)}
	r := operator.Request{Shape: []int64{2, 8, 9, 9}, Math: "fp32", Parameters: map[string]string{
		"c_out": "16", "kernel": "3", "bias": "true", "epilogue": "relu(x)+t0[c]", "layout": layout}}
	convolved, relu := y, y
	convolved.Name, relu.Name = "conv2d", "relu"
	p.region(t, "region_1", "conv2d", body, r,
		[]program.Input{input("x", "x", 2, 8, 9, 9), input("weight", "p_conv_weight", 16, 8, 3, 3), input("bias", "p_conv_bias", 16), input("t0", "p_bias", 16)},
		node("conv2d.default", convolved, value("x"), value("p_conv_weight"), value("p_conv_bias")),
		node("relu.default", relu, value("conv2d")), node("add.Tensor", y, value("relu"), value("p_bias")))
	return p
}

// layers are two equal products with GELU, beside which a residual is kept, and a softmax that PyTorch computes.
func layers(t *testing.T) *planned {
	p := empty(begin + `    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 32), nn.Linear(32, 32)])

    def forward(self, x, scale):
        first = self.layers[0](x)
        x = nn.functional.gelu(first)
        x = nn.functional.gelu(self.layers[1](x)) + first * scale
        return torch.softmax(x.view(2, 3, 32) * torch.tensor([2.0, 0.5]).view(2, 1, 1), -1), x.argmax(1)

def get_inputs():
    return [torch.rand(6, 32), torch.rand(6, 1)]

def get_init_inputs():
    return []
`)
	made := func(name string) program.Tensor { return tensor(name, 6, 32) }
	number := tensor("lifted", 2)
	number.Values = []float64{2, 0.5}
	g := p.Plan.Graph
	g.Inputs = []program.Tensor{tensor("x", 6, 32), tensor("scale", 6, 1)}
	g.State = []program.Tensor{state("layers.0.weight", 32, 32), state("layers.0.bias", 32), state("layers.1.weight", 32, 32), state("layers.1.bias", 32), number}
	r := operator.Request{Shape: []int64{1, 6, 32, 32}, Math: "fp32", Parameters: map[string]string{"transpose_b": "true", "bias": "true"}}
	linear := func(region, layer, x, y string) {
		weight, bias := "p_layers_"+layer+"_weight", "p_layers_"+layer+"_bias"
		p.region(t, region, "matmul", "t0 @ t1.mT + t2", r,
			[]program.Input{input("a", x, 1, 6, 32), input("b", weight, 1, 32, 32), input("bias", bias, 32)},
			node("linear.default", made(y), value(x), value(weight), value(bias)))
	}
	linear("region_1", "0", "x", "linear")
	p.add(node("gelu.default", made("gelu"), value("linear")))
	linear("region_2", "1", "gelu", "linear_1")
	index := tensor("argmax", 6)
	index.Type = "int64"
	p.add(node("gelu.default", made("gelu_1"), value("linear_1")), node("mul.Tensor", made("mul"), value("linear"), value("scale")),
		node("add.Tensor", made("add"), value("gelu_1"), value("mul")),
		node("view.default", tensor("view", 2, 3, 32), value("add"), program.Argument{List: constants(int64(2), int64(3), int64(32))}),
		node("view.default", tensor("view_1", 2, 1, 1), value("lifted"), program.Argument{List: constants(int64(2), int64(1), int64(1))}),
		node("mul.Tensor", tensor("mul_1", 2, 3, 32), value("view"), value("view_1")),
		node("softmax.int", tensor("softmax", 2, 3, 32), append([]program.Argument{value("mul_1")}, constants(int64(-1))...)...),
		node("argmax.default", index, append([]program.Argument{value("add")}, constants(int64(1))...)...))
	g.Outputs = []string{"softmax", "argmax"}
	return p
}

// normed is a batch_norm in training, whose kernel renews the running statistics, behind a region without a kernel.
func normed(t *testing.T) *planned {
	p := empty(begin + `    def __init__(self, features):
        super().__init__()
        self.bn = nn.BatchNorm2d(features)

    def forward(self, x):
        return self.bn(torch.tanh(x))

def get_inputs():
    return [torch.rand(4, 8, 5, 5)]

def get_init_inputs():
    return [8]
`)
	g := p.Plan.Graph
	g.Inputs, g.Outputs = []program.Tensor{tensor("x", 4, 8, 5, 5)}, []string{"batch_norm"}
	count := state("bn.num_batches_tracked")
	count.Type, count.Kind = "int64", "buffer"
	g.State = []program.Tensor{state("bn.weight", 8), state("bn.bias", 8), state("bn.running_mean", 8), state("bn.running_var", 8), count}
	added := node("add_.Tensor", count, append([]program.Argument{value(count.Name)}, constants(int64(1))...)...)
	added.Name, added.Results[0].Name, added.Mutates = "add_", "add_", []string{count.Name}
	tanh := node("tanh.default", tensor("tanh", 4, 8, 5, 5), value("x"))
	g.Nodes = append(g.Nodes, tanh)
	p.Plan.Steps = []program.Step{{Region: &program.Region{Name: "region_1", Operator: "elementwise", Nodes: []string{"tanh"}}}}
	p.add(added)
	n := node("batch_norm.default", tensor("batch_norm", 4, 8, 5, 5), value("tanh"), value("p_bn_weight"), value("p_bn_bias"), value("p_bn_running_mean"), value("p_bn_running_var"))
	n.Arguments = append(n.Arguments, constants(true, 0.1, 1e-5, true)...)
	n.Mutates = []string{"p_bn_running_mean", "p_bn_running_var"}
	p.region(t, "region_2", "batch_norm", "torch.batch_norm(t0, t1, t2, t3, t4, True, 0.1, 1e-5, False)",
		operator.Request{Shape: []int64{4, 8, 25}, Math: "fp32", Parameters: map[string]string{"training": "true"}},
		[]program.Input{input("x", "tanh", 4, 8, 25), input("weight", "p_bn_weight", 8), input("bias", "p_bn_bias", 8),
			input("running_mean", "p_bn_running_mean", 8), input("running_var", "p_bn_running_var", 8)}, n)
	return p
}

// mixed is a product of bf16 with an epilogue of it, which reads a tensor of float32.
func mixed(t *testing.T) *planned {
	p := empty(begin + `    def __init__(self):
        super().__init__()
        self.l = nn.Linear(16, 16, bias=False).bfloat16()

    def forward(self, x, scale):
        return (self.l(x).float() * scale).to(torch.bfloat16)

def get_inputs():
    return [torch.rand(8, 16).bfloat16(), torch.rand(16)]

def get_init_inputs():
    return []
`)
	bf16 := func(t program.Tensor) program.Tensor { t.Type = "bfloat16"; return t }
	g := p.Plan.Graph
	g.Inputs, g.State, g.Outputs = []program.Tensor{bf16(tensor("x", 8, 16)), tensor("scale", 16)}, []program.Tensor{bf16(state("l.weight", 16, 16))}, []string{"to"}
	r := operator.Request{Shape: []int64{1, 8, 16, 16}, Math: "fp32", Parameters: map[string]string{"transpose_b": "true", "type": "bf16", "epilogue": "bf16(x)*t0[n,f32]"}}
	cast := node("to.dtype", bf16(tensor("to", 8, 16)), value("mul"), program.Argument{Python: "torch.bfloat16"})
	p.region(t, "region_1", "matmul", "(t0 @ t1.mT).float() * t3", r,
		[]program.Input{input("a", "x", 1, 8, 16), input("b", "p_l_weight", 1, 16, 16), input("t0", "scale", 16)},
		node("linear.default", bf16(tensor("linear", 8, 16)), value("x"), value("p_l_weight")),
		node("to.dtype", tensor("to_1", 8, 16), value("linear"), program.Argument{Python: "torch.float32"}),
		node("mul.Tensor", tensor("mul", 8, 16), value("to_1"), value("scale")), cast)
	return p
}

func (p *planned) text(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, WriteProgram(&b, p.Program))
	return b.String()
}

// Written programs give what Model gives: outputs, state and gradients. Kernels run for the calls that they were tuned for.
func TestPrograms(t *testing.T) {
	testneeds.Torch.Need(t)
	tests := []struct {
		name         string
		program      *planned
		launched     string
		inEvaluation bool
	}{
		{"a convolution", convolution(t, "nchw"), "region_1", true},
		{"a convolution channels-last", convolution(t, "nhwc"), "region_1", true},
		{"two layers", layers(t), "region_1 region_1", true},
		{"a norm in training", normed(t), "region_2", false},
		{"a product of two types", mixed(t), "region_1", true},
	}
	var requests bytes.Buffer
	for i, test := range tests {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("program%d.py", i))
		must.OK(t, os.WriteFile(path, []byte(test.program.text(t)), 0o644))
		stands, _ := json.Marshal(test.program.stands) // plain data
		fmt.Fprintf(&requests, "{\"path\": %q, \"kernels\": %s}\n", path, stands)
	}
	answers := strings.Split(strings.TrimSpace(pythonSays(t, &requests, "testdata/run_program.py")), "\n")
	for i, test := range tests {
		var launched map[string][]string
		must.OK(t, json.Unmarshal([]byte(answers[i]), &launched))
		kernels := strings.Fields(test.launched)
		want := map[string][]string{"tuned": kernels, "unaligned": kernels, "gradients": kernels, "evaluated": kernels,
			"another type": {}, "other strides": {}, "half frozen": kernels}
		if !test.inEvaluation {
			want["evaluated"] = []string{}
		}
		if !reflect.DeepEqual(launched, want) {
			t.Errorf("%s launched %v\nwant %v", test.name, launched, want)
		}
	}
}

// The file says what it does, in forward and at its head.
func TestWrittenForward(t *testing.T) {
	for _, test := range []struct {
		program *planned
		wants   []string
	}{
		{convolution(t, "nchw"), []string{
			"# region_1 computes conv2d, relu, add:\n#     conv2d 2x8x9x9 ",
			"#     A thread keeps a few output channels",
			"given = (*inputs, self.conv.weight, self.conv.bias, self.bias)\n",
			"    (x, conv_weight, conv_bias, bias) = given\n    y = region_1(x, conv_weight, conv_bias, bias)\n    return y\n",
			"read = [dense_of_autotune(x), dense_of_autotune(weight), dense_of_autotune(bias), dense_of_autotune(t0, (16,))]\n",
			"y = torch.empty((2, 16, 7, 7), dtype=torch.float32, device=read[0].device)\n",
			"    # A convolution.\n", "        # Forward pass.\n",
		}},
		{layers(t), []string{
			`self.layers, "0").weight`,
			"(lifted,) = constants(device)\n",
			"y = region_1(x, layers_0_weight, layers_0_bias)\n    z = torch.ops.aten.gelu.default(y)\n    z = region_2(z, ",
		}},
	} {
		text := test.program.text(t)
		for _, want := range test.wants {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in\n%s", want, regexp.MustCompile(`(?s)r""".*?"""`).ReplaceAllString(text, "..."))
			}
		}
	}
}

// The kernels of a program compile, each in its namespace. Equal ones are there once, and none has a name of C's, so that
// several kernels of one template can be linked into one library.
func TestProgramKernelsCompile(t *testing.T) {
	compiler, err := compile.NVRTC(t.Context())
	testneeds.NVRTC.Opened(t, err, compile.ErrMissing)
	defer compiler.Close()
	compiler = compile.Cached(testcache.Dir(), compiler)
	limits := emulator.Limits()
	limits.Arch, limits.Target = 80, "sm_80"
	v := programView{kernels: map[string]view{}}
	var together testtogether.Source
	for i, problem := range []string{"conv2d 2x8x9x9", "matmul 1x64x64x64", "matmul 1x64x64x128", "matmul 1x64x64x64", "batch_norm 4x8x4096 training=true", "softmax 2x64x8"} {
		words := strings.Fields(problem)
		o, err := operator.Find(words[0])
		must.OK(t, err)
		shape, err := operator.ParseShape(words[1])
		must.OK(t, err)
		r := operator.Request{Shape: shape, Math: "fp32", Parameters: map[string]string{}}
		for _, setting := range words[2:] {
			name, value, _ := strings.Cut(setting, "=")
			r.Parameters[name] = value
		}
		k, err := v.kernel(fmt.Sprintf("region_%d", i+1), winnersOn(t, limits, o, r)[0])
		must.OK(t, err)
		if strings.Contains(k.TunedFile, `extern "C" __global__`) {
			t.Errorf("%s: its kernel has a name of C's", problem)
		}
	}
	for i, k := range v.Kernels {
		text, err := fill("tuned.cu.tmpl", k)
		must.OK(t, err)
		together.Add(k.Name+".cu", testtogether.Hidden(text, i), nil, nil)
	}
	names := lists.Of(v.Kernels, func(k view) string { return k.Name })
	if want := []string{"region_1", "region_2", "region_3", "region_5", "region_6"}; !slices.Equal(names, want) {
		t.Errorf("the kernels are %v, want %v", names, want)
	}
	k := operator.Kernel{Launches: operator.Launches{{Entry: "nothing"}}, File: "program.cu", Includes: together.Includes, Source: uncalled + together.Text()}
	_, err = compiler.Compile(t.Context(), compile.Request{Kernel: k, Arch: "sm_80", Timeout: 5 * time.Minute})
	var failed *compile.Error
	if errors.As(err, &failed) {
		t.Log(failed.Log)
	}
	must.OK(t, err)
}

// What KernelBench's checker takes for a trick is not in the part that is written. See checkRules.
func TestProgramsKeepTheRules(t *testing.T) {
	for _, p := range []*planned{convolution(t, "nchw"), layers(t), normed(t)} {
		_, text, _ := strings.Cut(p.text(t), "# Written by autotune from here on.")
		for what, rule := range forbidden {
			if found := rule.FindString(text); found != "" {
				t.Errorf("%q looks like %s", found, what)
			}
		}
	}
}

// A program that its kernels do not fit is refused, and so is one whose names are none.
func TestProgramsRefused(t *testing.T) {
	for _, test := range []struct {
		change func(p *planned, r *program.Region)
		want   string
	}{
		{func(p *planned, r *program.Region) { p.Model = "a b" }, "the class \"a b\" cannot be the base"},
		{func(p *planned, r *program.Region) { p.Model = "ModelNew" }, "cannot be the base"},
		{func(p *planned, r *program.Region) { p.Source += "\nclass ModelNew:\n    x = 1\n" }, "has a ModelNew already"},
		{func(p *planned, r *program.Region) { p.Winners = nil }, "no region has a kernel"},
		{func(p *planned, r *program.Region) { r.Name = "region 1"; p.Winners[r.Name] = p.Winners["region_1"] }, "a region is called \"region 1\"; want region_1 or so"},
		{func(p *planned, r *program.Region) { r.Inputs = r.Inputs[1:] }, "its argument `x` is float32 of shape [2 8 9 9], and the plan gives it \"\""},
		{func(p *planned, r *program.Region) { r.Inputs[0].Value = "nothing" }, "the plan gives it \"nothing\""},
		{func(p *planned, r *program.Region) { r.Inputs[0].Shape = []int64{1, 16, 9, 9} }, "of shape [2 8 9 9], as [1 16 9 9]"},
		{func(p *planned, r *program.Region) { r.Inputs = append(r.Inputs, input("more", "x", 2, 8, 9, 9)) }, "the plan gives it 5 tensors, and its kernel reads 4"},
		{func(p *planned, r *program.Region) { r.Output.Type = "float16" }, "its kernel writes float32 of shape [2 16 7 7] in the order [], and add is float16"},
		{func(p *planned, r *program.Region) { r.Output.Shape = []int64{2, 16, 7, 8} }, "and add is float32 of shape [2 16 7 8]"},
		{func(p *planned, r *program.Region) { r.Output.Strides = channelsLast(r.Output.Shape) }, "with strides [784 1 112 16]"},
		{func(p *planned, r *program.Region) { p.Plan.Graph.Inputs[0].Type = "float64" }, "and the plan gives it \"x\", float64"},
		{func(p *planned, r *program.Region) {
			p.Plan.Graph.Inputs = append(p.Plan.Graph.Inputs, program.Tensor{Name: "n", Type: "int"})
		}, "\"n\" is of type \"int\"; want a tensor"},
		{func(p *planned, r *program.Region) { p.Plan.Graph.State[0].Path = "a'); exit()" }, "cannot be written: want names and numbers with dots"},
		{func(p *planned, r *program.Region) { p.Plan.Graph.Inputs[0].Name = "x y"; r.Inputs[0].Value = "x y" }, "\"x y\" is of type \"float32\"; want a tensor with a name of Python"},
		{func(p *planned, r *program.Region) { p.Plan.Graph.Outputs = []string{"conv2d"} }, "the output \"conv2d\" is no value of the program"},
		{func(p *planned, r *program.Region) {
			w := p.Winners["region_1"]
			w.Kernel.Flags = []string{"-maxrregcount=64"}
			p.Winners["region_1"] = w
		}, "its kernel is compiled with -maxrregcount=64; a module sets no flags"},
		{func(p *planned, r *program.Region) {
			w := p.Winners["region_1"]
			w.Kernel.Source += "// \"\"\""
			p.Winners["region_1"] = w
		}, "three quotes in a row"},
	} {
		p := convolution(t, "nchw")
		test.change(p, p.Plan.Steps[0].Region)
		var b bytes.Buffer
		if err := WriteProgram(&b, p.Program); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got  %v\nwant %s", err, test.want)
		} else if b.Len() > 0 {
			t.Errorf("%v: something was written", err)
		}
	}
}

// What a program depends on besides its tensors: the model's mode, and whether its forward can be computed again.
func TestModes(t *testing.T) {
	count := state("n.count")
	count.Type = "int64"
	g := &program.Graph{Inputs: []program.Tensor{tensor("x", 2)}, State: []program.Tensor{state("n.mean", 2), count}}
	y := tensor("y", 2)
	of := func(function string, mutates string, arguments ...any) program.Node {
		n := node(function, y, append([]program.Argument{value("x")}, constants(arguments...)...)...)
		n.Mutates = strings.Fields(mutates)
		return n
	}
	norm := func(training bool, mutates string) program.Node {
		n := of("batch_norm.default", mutates, nil, nil, nil, nil, training)
		n.Arguments[3] = value("p_n_mean")
		return n
	}
	for _, test := range []struct {
		nodes    []program.Node
		training string
		once     bool
		mutated  []string
	}{
		{[]program.Node{of("relu.default", "")}, "", false, nil},
		{[]program.Node{of("dropout.default", "", 0.5, true)}, "True", true, nil},
		{[]program.Node{of("dropout.default", "", 0.5, false)}, "False", false, nil},
		{[]program.Node{of("dropout_.default", "", 0.5, true), norm(false, "")}, "False", true, nil},
		{[]program.Node{norm(true, "p_n_mean"), of("dropout.default", "", 0.5, false)}, "True", false, []string{"self.n.mean"}},
		{[]program.Node{of("batch_norm.default", "", nil, nil, nil, nil, true)}, "", false, nil},
		{[]program.Node{of("rand_like.default", "")}, "", true, nil},
		{[]program.Node{of("normal_.default", "x")}, "", true, nil},
		{[]program.Node{of("group_norm.default", "", int64(1))}, "", false, nil},
		{[]program.Node{of("relu_.default", "x")}, "", true, nil},
		{[]program.Node{of("add_.Tensor", "p_n_count", int64(1))}, "", false, []string{"self.n.count"}},
		{[]program.Node{of("add_.Tensor", "p_n_mean", int64(1))}, "", true, []string{"self.n.mean"}},
		{[]program.Node{of("relu_.default", "y")}, "", false, nil},
	} {
		v := programView{Program: Program{Plan: &program.Plan{Graph: g}}}
		for _, n := range test.nodes {
			v.note(n)
		}
		if v.Training != test.training || v.Once != test.once || !slices.Equal(v.Mutated, test.mutated) {
			t.Errorf("%s: training %q, once %v, mutated %v; want %q, %v, %v", test.nodes[0].Function, v.Training, v.Once, v.Mutated, test.training, test.once, test.mutated)
		}
	}
}

// Whatever the planner makes of KernelBench's level 2 can be written.
func TestPlannedPrograms(t *testing.T) {
	f, err := os.Open("../../program/testdata/level2.jsonl.gz")
	must.OK(t, err)
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	must.OK(t, err)
	text, err := io.ReadAll(unpacked)
	must.OK(t, err)
	for _, line := range endurance.Some(slices.Collect(bytes.Lines(text)), 12) {
		var exported struct {
			Problem string
			Graph   json.RawMessage
		}
		must.OK(t, json.Unmarshal(line, &exported))
		g, err := program.Read(bytes.NewReader(exported.Graph))
		must.OK(t, err)
		plan, err := program.NewPlan(g, operator.Find)
		must.OK(t, err)
		p := Program{Plan: plan, Winners: map[string]cudasource.Winner{}, Source: begin}
		for _, r := range plan.Regions() {
			problem, err := r.Problem.Operator.Bind(r.Request, emulator.Limits())
			must.OK(t, err)
			p.Winners[r.Name] = winner(t, emulator.Limits(), problem, problem.Defaults(t.Context())[0])
		}
		var whole, without bytes.Buffer
		if err := WriteProgram(&whole, p); err != nil {
			t.Errorf("%s: %v", exported.Problem, err)
		}
		if delete(p.Winners, plan.Regions()[0].Name); len(p.Winners) == 0 {
			continue
		}
		if err := WriteProgram(&without, p); err != nil {
			t.Errorf("%s without its first region: %v", exported.Problem, err)
		}
	}
}
