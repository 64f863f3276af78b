package operator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// moduleFiles returns the files of the operator goodOperator, with a PyTorch module added.
func moduleFiles() fstest.MapFS {
	files := operatorFiles(strings.Replace(goodOperator, "templates:\n", "pytorch: {files: [module.py, gradients.py, general.cuh], arguments: {input: {is: x}, weight: {}}}\ntemplates:\n", 1))
	files["module.py"] = &fstest.MapFile{Data: []byte("class ModelNew(nn.Module):\n    x = 1\ndef get_inputs():\n    x\ndef get_init_inputs():\n    x\n")}
	files["gradients.py"] = &fstest.MapFile{Data: []byte("def gradients(s):\n    x\n")}
	files["general.cuh"] = &fstest.MapFile{Data: []byte("#include \"own.cuh\"\n__device__ float scale_general(const float* x) { return 1; }\n")}
	return files
}

func TestLoadPyTorch(t *testing.T) {
	o := loaded(t, moduleFiles())
	if o.PyTorch == nil || !strings.HasPrefix(o.PyTorch.Module.Text, "class ModelNew") || len(o.PyTorch.General.Includes) != 2 {
		t.Errorf("got %+v", o.PyTorch)
	}
	without, err := Load(operatorFiles(goodOperator), ".")
	if err != nil || without.PyTorch != nil {
		t.Errorf("the key is optional; got %+v, %v", without, err)
	}
}

func TestLoadPyTorchFindsFaults(t *testing.T) {
	replace := func(file, old, new string) func(fstest.MapFS) {
		return func(files fstest.MapFS) {
			files[file] = &fstest.MapFile{Data: []byte(strings.Replace(string(files[file].Data), old, new, 1))}
		}
	}
	for _, test := range []struct {
		name   string
		change func(fstest.MapFS)
		want   string
	}{
		{"unknown key", replace("op.yaml", "files: [", "filez: ["), "op.yaml:26:11: unknown key `filez`; did you mean `files`?"},
		{"no general kernel", func(files fstest.MapFS) {
			replace("op.yaml", ", general.cuh", "")(files)
			delete(files, "general.cuh")
		}, "op.yaml:26:10: pytorch lacks the general kernel"},
		{"not a mapping", replace("op.yaml", "{files: [module.py, gradients.py, general.cuh], arguments: {input: {is: x}, weight: {}}}", "module.py"), "op.yaml:26:10: pytorch must be a mapping"},
		{"no such module", replace("op.yaml", "module.py", "modul.py"), "op.yaml:26:19: there is no source file `modul.py`; did you mean `module.py`?"},
		{"no such general kernel", replace("op.yaml", "general.cuh", "genera.cuh"), "op.yaml:26:44: there is no source file `genera.cuh`; did you mean `general.cuh`?"},
		{"outside the folder", replace("op.yaml", "module.py", "../module.py"), "op.yaml:26:19: this must name a file in the operator's folder"},
		{"module without a class", replace("module.py", "ModelNew", "Model"), "op.yaml:26:19: `module.py` does not define `class ModelNew`"},
		{"gradients without a function", replace("gradients.py", "def gradients", "def gradient"), "op.yaml:26:30: `gradients.py` does not define `class ModelNew`"},
		{"another function", replace("general.cuh", "scale_general", "general"), "op.yaml:26:44: `general.cuh` does not define `scale_general`"},
		{"a list of arguments", replace("op.yaml", "{input: {is: x}, weight: {}}}", "[x]}"), "op.yaml:26:69: arguments must be a mapping of PyTorch's names; this is a list"},
		{"an unknown fold", replace("op.yaml", "is: x", "is: x, fold: flatt"), "unknown fold `flatt`; did you mean `flat`?"},
		{"an argument of nothing", replace("op.yaml", "is: x", "is: z"), "the operator has no tensor, parameter or dimension `z`"},
		{"a default of nothing", replace("op.yaml", "weight: {}", "weight: {}, size: sizes"), "the operator has no tensor, parameter or dimension `sizes`"},
		{"an argument twice", replace("op.yaml", "weight: {}", "weight: {}, x: {}"), "`x` is given twice"},
		{"along nothing", replace("op.yaml", "is: x", "is: x, fold: [along, dim]"), "`input` is folded by `dim`, which is no argument of the function"},
		{"along what is not said", replace("op.yaml", "is: x", "is: x, fold: along"), "`input` is folded along an argument of the function, which must be named; as [along, dim]"},
		{"rows by something", replace("op.yaml", "is: x", "is: x, fold: [rows, n]"), "`input` is folded rows, which depends on nothing"},
		{"a word of nothing", replace("op.yaml", "weight: {}", "weight: {}, reduction: {default: sum, words: {sum: {total: true}}}"), "the operator has no tensor, parameter or dimension `total`"},
		{"no word", replace("op.yaml", "weight: {}", "weight: {}, reduction: {default: mean, words: {sum: {n: 1}}}"), "unknown word `mean`"},
		{"no argument for a tensor", replace("op.yaml", "{input: {is: x}, weight: {}}}", "{size: 1}}"), "no argument is the tensor `x`"},
		{"missing include", func(files fstest.MapFS) { replace("general.cuh", "own", "none")(files) }, "general.cuh:1:11: cannot include `none.cuh`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := moduleFiles()
			test.change(files)
			_, err := Load(files, ".")
			refused(t, test.name, err, test.want)
		})
	}
}

// TestTorch checks for each problem which PyTorch call computes the problem, if there is one.
func TestTorch(t *testing.T) {
	for _, c := range []struct {
		name, shape string
		set         map[string]string
		want        string // "": there is none
	}{
		{"max_pool2d", "2x3x9x9", map[string]string{"kernel": "3x2", "stride": "2"}, "max_pool2d(input 2x3x9x9, kernel_size=3x2, padding=1x1, stride=2x2)"},
		{"conv2d", "2x6x9x8", map[string]string{"c_out": "4", "kernel": "3", "bias": "true", "groups": "2"},
			"conv2d(bias 4, groups=2, input 2x6x9x8, weight 4x3x3x3)"},
		{"conv1d", "2x6x9", map[string]string{"c_out": "4", "kernel": "3", "padding": "1", "type": "bf16"}, "conv1d(input 2x6x9, padding=1, weight 4x6x3)"},
		{"depthwise_conv2d", "2x6x9x8", map[string]string{"kernel": "3"}, "depthwise_conv2d(input 2x6x9x8, weight 6x1x3x3); conv2d(groups=6, input 2x6x9x8, weight 6x1x3x3)"},
		{"avg_pool2d", "2x3x9x9", map[string]string{"kernel": "3", "divisor_override": "5"}, "avg_pool2d(divisor_override=5, input 2x3x9x9, kernel_size=3x3, stride=3x3)"},
		{"avg_pool2d", "2x3x9x9", map[string]string{"kernel": "3", "type": "f16", "layout": "nhwc"}, "avg_pool2d(input 2x3x9x9, kernel_size=3x3, stride=3x3)"},
		{"softmax", "2x7x3", nil, "softmax(dim=1, input 2x7x3)"},
		{"matmul", "2x3x4x5", nil, "matmul(input 2x3x4, other 2x4x5); mm(input 2x3x4, mat2 2x4x5); bmm(input 2x3x4, mat2 2x4x5)"},
		{"matmul", "1x3x4x5", map[string]string{"transpose_b": "true", "bias": "true"}, "linear(bias 5, input 1x3x4, weight 1x5x4)"},
		{"matmul", "1x3x4x5", map[string]string{"transpose_b": "true"}, "linear(input 1x3x4, weight 1x5x4); " +
			"matmul(input 1x3x4, other 1x4x5 in 0x2x1); mm(input 1x3x4, mat2 1x4x5 in 0x2x1); bmm(input 1x3x4, mat2 1x4x5 in 0x2x1)"},
		{"matmul", "2x3x4x5", map[string]string{"transpose_a": "true", "transpose_b": "true"}, "matmul(input 2x3x4 in 0x2x1, other 2x4x5 in 0x2x1); " +
			"mm(input 2x3x4 in 0x2x1, mat2 2x4x5 in 0x2x1); bmm(input 2x3x4 in 0x2x1, mat2 2x4x5 in 0x2x1)"},
		{"matmul", "2x3x4x5", map[string]string{"triangular_a": "1"}, ""},
		{"matmul", "2x3x4x5", map[string]string{"bias": "true"}, ""},
		{"conv1d", "2x6x9", map[string]string{"c_out": "4", "kernel": "2", "dilation": "3"}, "conv1d(dilation=3, input 2x6x9, weight 4x6x2)"},
		{"conv_transpose2d", "2x6x9x8", map[string]string{"c_out": "4", "kernel": "2", "stride": "2", "groups": "2"},
			"conv_transpose2d(groups=2, input 2x6x9x8, stride=2x2, weight 6x2x2x2)"},
		{"elementwise", "4x5x6", map[string]string{"f": "gelu(x)"}, "elementwise(f=gelu(x)xtruexfalsexfalse, x 4x5x6); gelu(approximate=none, input 4x5x6)"},
		{"elementwise", "4x5x6", map[string]string{"f": "gelu_tanh(x)"}, "elementwise(f=gelu_tanh(x)xtruexfalsexfalse, x 4x5x6); gelu(approximate=tanh, input 4x5x6)"},
		{"elementwise", "1x5x1", map[string]string{"f": "square(x-w)", "mean": "true"}, "mse_loss(input 1x5, reduction=mean, target 1x5)"},
		{"elementwise", "1x5x1", map[string]string{"f": "abs(x-w)", "sum": "true"}, "l1_loss(input 1x5, reduction=sum, target 1x5)"},
		{"cross_entropy", "2x5x3", map[string]string{"mean": "false"}, "cross_entropy(input 2x5x3, reduction=none, target 2x3)"},
		{"cross_entropy", "2x5x1", map[string]string{"mean": "false"}, "cross_entropy(input 2x5, reduction=none, target 2)"}, // PyTorch's form for rows
	} {
		o := find(t, c.name)
		shape, _ := ParseShape(c.shape)
		p := bound(t, o, Request{Shape: shape, Parameters: c.set})
		var got []string
		for _, made := range p.Torch() {
			got = append(got, made.text())
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %s; want %s", p, text, c.want)
		}
	}
}

func (made TorchProblem) text() string {
	var parts []string
	for name, tensor := range made.Tensors {
		text := name + " " + FormatShape(tensor.Shape)
		if tensor.Order != nil && made.view {
			text += " in " + strings.Trim(strings.ReplaceAll(fmt.Sprint(tensor.Order), " ", "x"), "[]")
		}
		parts = append(parts, text)
	}
	for name, values := range made.Values {
		parts = append(parts, name+"="+format(values))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%s(%s)", made.Function, strings.Join(parts, ", "))
}
