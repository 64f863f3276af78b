package pytorch

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/program"
)

var someNames = map[string]string{"x": "x", "y": "y_1"}

func TestCalls(t *testing.T) {
	list := func(numbers ...any) program.Argument { return program.Argument{List: constants(numbers...)} }
	for _, test := range []struct {
		function  string
		arguments []program.Argument
		keywords  map[string]program.Argument
		want      string
	}{
		{"aten.conv2d.default", []program.Argument{value("x"), value("y"), {}, list(int64(1), int64(2))}, nil, "torch.ops.aten.conv2d.default(x, y_1, None, [1, 2])"},
		{"aten.add.Tensor", []program.Argument{value("x"), value("y")}, nil, "x + y_1"},
		{"aten.add.Tensor", []program.Argument{value("x"), value("y")}, map[string]program.Argument{"alpha": {Constant: int64(2)}}, "torch.ops.aten.add.Tensor(x, y_1, alpha=2)"},
		{"aten.mul.Tensor", append([]program.Argument{value("x")}, constants(-2.0)...), nil, "x * -2.0"},
		{"aten.view.default", []program.Argument{value("x"), list(int64(2), int64(-1))}, nil, "x.view(2, -1)"},
		{"aten.view.default", []program.Argument{value("x"), {List: []program.Argument{}}}, nil, "x.view([])"},
		{"aten.transpose.int", append([]program.Argument{value("x")}, constants(int64(0), int64(1))...), nil, "x.transpose(0, 1)"},
		{"aten.cat.default", []program.Argument{{List: []program.Argument{value("x"), value("y")}}}, nil, "torch.ops.aten.cat.default([x, y_1])"},
		{"aten.gelu.default", []program.Argument{value("x")}, map[string]program.Argument{"approximate": {Constant: "tanh"}}, `torch.ops.aten.gelu.default(x, approximate="tanh")`},
		{"aten.zeros.default", []program.Argument{list(int64(3))}, map[string]program.Argument{"dtype": {Python: "torch.float32"}, "device": {Python: "device"}},
			"torch.ops.aten.zeros.default([3], device=device, dtype=torch.float32)"},
		{"aten.clamp.default", append([]program.Argument{value("x")}, constants(math.Inf(-1), 1e30, 1e-5, true, nil)...), nil,
			`torch.ops.aten.clamp.default(x, float("-Inf"), 1e+30, 1e-05, True, None)`},
	} {
		n := program.Node{Name: "z", Function: test.function, Arguments: test.arguments, Keywords: test.keywords}
		if got, err := callOf(n, someNames); err != nil || got != test.want {
			t.Errorf("%s, %v\nwant %s", got, err, test.want)
		}
	}
}

// Names of a graph are names of Python or are refused: nothing of it becomes code.
func TestCallsRefuse(t *testing.T) {
	for _, test := range []struct {
		function, keyword string
		argument          program.Argument
		want              string
	}{
		{"aten.exp.default", "", value("y\nimport os"), "which is no value before it"},
		{"aten.exp.default", "", program.Argument{Python: "print(1)"}, "is no constant"},
		{"aten.exp.default", "", program.Argument{Python: "torch.float32\n"}, "is no constant"},
		{"aten.exp.default", "", program.Argument{Python: "torch.hub.load('a')"}, "is no constant"},
		{"aten.exp.default", "", program.Argument{Constant: []int{1}}, "is of type []int"},
		{"aten.exp.default", "a=1, b", value("x"), "is no name in Python"},
		{"aten.exp.default", "class", value("x"), "is no name in Python"},
		{"aten.exp.default(), aten.exp.default", "", value("x"), "is none of torch.ops"},
		{"aten.exp", "", value("x"), "is none of torch.ops"},
		{"", "", value("x"), "is none of torch.ops"},
	} {
		n := program.Node{Name: "z", Function: test.function, Arguments: []program.Argument{test.argument}}
		if test.keyword != "" {
			n.Arguments, n.Keywords = nil, map[string]program.Argument{test.keyword: test.argument}
		}
		if got, err := callOf(n, someNames); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v gives %s, %v; want %q", test, got, err, test.want)
		}
	}
}

func TestAttributes(t *testing.T) {
	for path, want := range map[string]string{
		"weight": "self.weight", "layers.0.conv.weight": `getattr(self.layers, "0").conv.weight`, "in.weight": `getattr(self, "in").weight`,
		"__w.b": `getattr(self, "__w").b`, "": "", "a..b": "", `a".b`: "", "a\nb": "", "a b": "", "a()": "", "a.0x": "", "a'": "", "ä": "",
	} {
		if got, err := attribute(path); got != want && err == nil || (err != nil) != (want == "") {
			t.Errorf("%q gives %s, %v; want %s", path, got, err, want)
		}
	}
}

// What is written of any call is one expression of Python, or the call is refused.
func FuzzCall(f *testing.F) {
	f.Add("aten.add.Tensor", "alpha", "tanh", "torch.float32", "layers.0.weight", 2.5, int64(3))
	f.Add("aten.view.default", "", `"'); exit() #`, "float('inf')", "a.__b", math.NaN(), int64(-1))
	f.Add("torch.ops", "a=b", "\\", "device", "x\"", math.Inf(1), int64(0))
	f.Fuzz(func(t *testing.T, function, keyword, text, python, path string, number float64, whole int64) {
		n := program.Node{Name: "z", Function: function, Arguments: []program.Argument{value("x"), {List: constants(text, number, whole)}}}
		if keyword != "" {
			n.Keywords = map[string]program.Argument{keyword: {Python: python}}
		}
		call, err := callOf(n, someNames)
		if place, wrong := attribute(path); wrong == nil {
			call = place + " = " + call
		}
		if err == nil {
			checkExpression(t, call)
		}
	})
}

// checkExpression sees that text is words, numbers, strings and a few signs, with brackets that match.
func checkExpression(t *testing.T, text string) {
	t.Helper()
	var open []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			end := i + 1
			for ; end < len(text) && text[end] != c; end++ {
				if text[end] == '\\' {
					end++
				}
				if end < len(text) && text[end] == '\n' {
					t.Fatalf("a string of %q goes over a line", text)
				}
			}
			if end >= len(text) {
				t.Fatalf("a string of %q has no end", text)
			}
			i = end
		case c == '(' || c == '[':
			open = append(open, c)
		case c == ')' || c == ']':
			if len(open) == 0 || open[len(open)-1] != map[byte]byte{')': '(', ']': '['}[c] {
				t.Fatalf("brackets of %q do not match", text)
			}
			open = open[:len(open)-1]
		case !strings.ContainsRune("_., =+-*/", rune(c)) && !(c >= '0' && c <= '9') && !(c|32 >= 'a' && c|32 <= 'z'):
			t.Fatalf("%q has %q outside of a string", text, c)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%q leaves a bracket open", text)
	}
}

func TestCommented(t *testing.T) {
	for source, want := range map[string]string{
		"def f():\n    \"\"\"Forward pass.\"\"\"\n    return 1\n":                                  "def f():\n    # Forward pass.\n    return 1\n",
		"def f():\n    '''Makes\n\n    a pass.\n    '''\n\n    return 1":                           "def f():\n    # Makes\n    # a pass.\n\n    return 1\n",
		"def f():\n    \"\"\"Forward pass.\"\"\"\n":                                                "def f():\n    \"\"\"Forward pass.\"\"\"\n",
		"def f():\n    \"\"\"Forward pass.\"\"\"\n    \n\ndef g():\n    return 1\n":                "def f():\n    \"\"\"Forward pass.\"\"\"\n    \n\ndef g():\n    return 1\n",
		"def f():\n    \"\"\"Adds.\"\"\"\n    return 1\n":                                          "def f():\n    \"\"\"Adds.\"\"\"\n    return 1\n",
		"text = (\n    \"\"\"pass\"\"\"\n    )\n":                                                  "text = (\n    \"\"\"pass\"\"\"\n    )\n",
		"s = \"\"\"\nOptions:\n\"\"\"\nx = 1 # pass\n\"\"\"a\"\"\"\ny = 2\n":                       "s = \"\"\"\nOptions:\n\"\"\"\nx = 1 # pass\n\"\"\"a\"\"\"\ny = 2\n",
		"x = {1:\n    \"\"\"a pass\"\"\"\n    \"b\"}\n":                                            "x = {1:\n    \"\"\"a pass\"\"\"\n    \"b\"}\n",
		"def f(\n    x\n) -> int:\n    \"\"\"A pass.\"\"\"\n    return x\n":                        "def f(\n    x\n) -> int:\n    # A pass.\n    return x\n",
		"\ufeff\"\"\"One pass.\"\"\"\nimport torch\n":                                              "# One pass.\nimport torch\n",
		"class A:  # a\n    \"\"\"A pass.\"\"\"\n\n    # that\n    def f(self):\n        return 1": "class A:  # a\n    # A pass.\n\n    # that\n    def f(self):\n        return 1\n",
	} {
		if got := commented(source); got != want {
			t.Errorf("%q gives\n%q\nwant\n%q", source, got, want)
		}
	}
}

// The two halves of a file have names of their own.
func TestApart(t *testing.T) {
	const written = "import os\n\n\ndef dense(x):\n    return x.dense(kernels, \"dense\")\n\n\nkernels = {\"a\": r\"\"\"dense kernels\"\"\"}\n"
	for source, want := range map[string]string{
		"x = 1\n": written,
		"class Model:\n    def f(self):\n        return self.dense\n": strings.Replace(written, "def dense(", "def dense_of_autotune(", 1),
		"kernels = 3\n": strings.ReplaceAll(strings.ReplaceAll(written, "(kernels,", "(kernels_of_autotune,"), "\nkernels =", "\nkernels_of_autotune ="),
	} {
		if got, err := apart(written, source); err != nil || got != want {
			t.Errorf("beside %q: %q, %v", source, got, err)
		}
	}
	for source, want := range map[string]string{
		"class ModelNew:\n": "has a ModelNew already", "os = 3\n": "gives `os` a meaning", "def torch(x):\n": "gives `torch` a meaning"} {
		if _, err := apart(written, source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", source, err, want)
		}
	}
}

// What a source's comments lose is no code: Python reads the same of each file of the tests.
func TestCommentedSourcesMeanTheSame(t *testing.T) {
	testneeds.Python.Need(t)
	for _, p := range []*planned{convolution(t, "nchw"), layers(t)} {
		path := t.TempDir() + "/source.py"
		must.OK(t, os.WriteFile(path, []byte(commented(p.Source)), 0o644))
		pythonSays(t, nil, "-c", fmt.Sprintf("compile(open(%q).read(), 'source', 'exec')", path))
	}
}
