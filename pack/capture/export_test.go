package capture

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/program"
)

// small are programs, as the body of a class and their inputs, with the steps of their plans.
var small = []struct{ name, layers, forward, inputs, want string }{
	{"chain", "self.c = nn.Conv2d(3, 8, 3); self.b = nn.Parameter(torch.randn(8, 1, 1))",
		"return (self.c(x).relu() + self.b).mul_(2.0)", "torch.randn(2, 3, 8, 8)", "conv2d (relu(x)+t0[c])*2"},
	{"residual", "self.l = nn.Linear(16, 16)", "y = self.l(x); return y*torch.sigmoid(y) + x, y.sum(1)",
		"torch.randn(8, 16)", "matmul | elementwise silu(x)+w | sum"},
	{"reused", "self.l = nn.Linear(16, 16)", "y = self.l(x); return (y*torch.sigmoid(y) + x).mul(1.0).contiguous()",
		"torch.randn(2, 4, 16)", "matmul silu(x)+t0[batch,m,n]"},
	{"transposed", "self.w = nn.Parameter(torch.randn(12, 16)); self.v = nn.Parameter(torch.randn(8, 6))",
		"return torch.matmul(x, self.w.T).exp(), torch.mm(x.t(), self.v) - 1, x.transpose(0, 1).matmul(self.v)",
		"torch.randn(8, 16)", "matmul exp(x) | matmul x-1 | matmul"},
	{"attribute", "self.l = nn.Linear(16, 16); self.k = torch.arange(16.)/8", "return self.l(x)*self.k*torch.tensor(0.5)",
		"torch.randn(8, 16)", "matmul x*t0[n]*0.5"},
	{"batches", "self.v = nn.Parameter(torch.randn(16, 6))", "return x @ self.v + 1, x @ x.transpose(-2, -1), x.mT @ x",
		"torch.randn(2, 3, 8, 16)", "matmul x+1 | matmul | matmul"},
	{"training", "self.c = nn.Conv2d(3, 8, 3); self.n = nn.BatchNorm2d(8); self.r = nn.ReLU(inplace=True)",
		"return nn.functional.hardtanh(self.n(self.r(self.c(x))))", "torch.randn(2, 3, 8, 8)",
		"conv2d relu(x) | add_ | batch_norm clamp(x,-1,1)"},
	{"views", "self.l = nn.Linear(16, 16); self.n = nn.InstanceNorm2d(1)",
		"y = self.l(x); y = self.n(y[:, None, None]).squeeze(1).squeeze(1); return (y + z)*z",
		"torch.randn(8, 16), torch.randn(8, 16)", "matmul | group_norm (x+t0[n,c,hw])*t0[n,c,hw]"},
	{"folded", "self.n = nn.GroupNorm(2, 8); self.s = nn.Parameter(torch.randn(8, 1, 1))",
		"return nn.functional.silu(self.n(x))*self.s", "torch.randn(2, 8, 4, 6)", "group_norm silu(x)*t0[c]"},
	{"mixed", "self.l = nn.Linear(16, 16).bfloat16()", "return (self.l(x).float()*2 + z).to(torch.bfloat16)",
		"torch.randn(8, 16).bfloat16(), torch.randn(16)", "matmul bf16(bf16(x)*2+t0[n,f32])"},
	{"functions", "self.l = nn.Linear(16, 16)",
		"y = self.l(x); F = nn.functional; y = torch.where(y > 0, y, 0.1*y)**2; y = F.elu(1 - y, 0.5).clamp(max=0.8); " +
			"return F.softplus(y.clamp_min(-0.5), 2.0).masked_fill(y < -1, 3.0)/4 - torch.rsqrt(y*y + 1)",
		"torch.randn(8, 16)", ""},
	{"rootless", "self.w = nn.Parameter(torch.randn(4, 1)); self.b = nn.Parameter(torch.randn(4, 1))",
		"return nn.functional.gelu(torch.logsumexp(x*self.w + self.b, 2, True), approximate='tanh')",
		"torch.randn(2, 4, 6)", "elementwise x*w+b | logsumexp | elementwise gelu_tanh(x)"},
	{"reductions", "self.p = nn.MaxPool2d(2); self.a = nn.AdaptiveAvgPool2d(1)",
		"y = self.p(x); return torch.softmax(y, 1)*2, torch.max(y, 1)[0].neg(), self.a(y).tanh(), torch.min(y, 1)",
		"torch.randn(2, 4, 8, 8)", ""},
	{"written", "self.l = nn.Linear(16, 16)", "y = self.l(x); v = y[:, 0]; v.add_(1); return torch.relu(y)",
		"torch.randn(8, 16)", "matmul | select | add_ | elementwise relu(x)"},
	{"counted", "self.l = nn.Linear(16, 16); self.register_buffer('k', torch.ones(1))",
		"y = self.l(x); z = y*self.k; self.k += 1; return z, torch.relu(z)*self.k", "torch.randn(8, 16)",
		"matmul x*t0[] | add_ | elementwise relu(x)*w | copy_"},
	{"moved", "self.l = nn.Linear(16, 16); self.register_buffer('k', torch.ones(1))",
		"y = self.l(x + self.k); self.k += 1; return torch.relu(y*self.k)", "torch.randn(8, 16)",
		"elementwise x+w | add_ | matmul relu(x*t0[]) | copy_"},
	{"beside", "self.c = nn.Conv2d(3, 8, 1); self.d = nn.Conv2d(3, 8, 1); self.e = nn.Dropout(0.0)",
		"return self.e(torch.relu(self.c(x) + self.d(x)*torch.tensor(0.5)))", "torch.randn(2, 3, 4, 4)",
		"conv2d x*0.5 | conv2d relu(x+t0[n,c,h,w])"},
}

const smallProgram = "import torch\nfrom torch import nn\nclass Model(nn.Module):\n    def __init__(self):\n" +
	"        super().__init__(); LAYERS\n    def forward(self, *given):\n        x, z = given[0], given[-1]; FORWARD\n" +
	"def get_inputs():\n    return [INPUTS]\ndef get_init_inputs():\n    return []\n"

// evaluating runs plans by PyTorch, the expressions of regions too, and compares what programs give and write.
const evaluating = `
import copy, json, sys, torch
FUNCTIONS
from autotune_capture.graph import of_file
F = Functions()

class Run:
    def __init__(self, graph, module, inputs):
        self.values = {t["name"]: x for t, x in zip(graph["inputs"], inputs)}
        held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        for t in graph["state"]:
            if t["kind"] == "constant":
                held[t["path"]] = torch.tensor(t["values"], dtype=getattr(torch, t["type"])).reshape(t["shape"])
            self.values[t["name"]] = held[t["path"]]
        self.makers = {r["name"]: n for n in graph["nodes"] for r in n["results"] or [{"name": n["name"]}]}

    def value(self, name):
        if name not in self.values:
            self.call(name)
        return self.values[name]

    def argument(self, a):
        if isinstance(a, list):
            return [self.argument(b) for b in a]
        if isinstance(a, dict):
            return self.value(a["value"]) if "value" in a else eval(a["constant"], {"torch": torch, "device": "cpu"})
        return a

    def call(self, name):
        node, op = self.makers[name], torch.ops
        for part in node["function"].split("."):
            op = getattr(op, part)
        keywords = {k: self.argument(v) for k, v in node.get("keywords", {}).items()}
        out = op(*map(self.argument, node["arguments"]), **keywords)
        self.values.update(zip((r["name"] for r in node["results"]), out if isinstance(out, (tuple, list)) else [out]))

    def region(self, r):
        given = {name: self.value(v).reshape(shape).float() for name, v, shape in r["tensors"]}
        given["x"] = self.value(r["x"]).reshape(r["shape"]).float()
        t = r["output"]
        out = eval(r["text"], {"F": F, **given})
        self.values[t["name"]] = out.expand(r["shape"]).reshape(t["shape"]).to(getattr(torch, t["type"]))

for case in json.load(sys.stdin):
    torch.manual_seed(0)
    module, inputs = of_file(case["file"])()
    again = copy.deepcopy(module)
    with torch.no_grad():
        want = module(*inputs)
        run = Run(case["graph"], again, inputs)
        for step in case["steps"]:
            run.region(step) if "text" in step else run.call(step["node"])
        got = [run.value(name) for name in case["graph"]["outputs"]]
    want = torch.utils._pytree.tree_leaves(want)
    for a, b in [*zip(got, want), *zip(again.buffers(), module.buffers())]:
        torch.testing.assert_close(a, b, rtol=2e-5, atol=2e-5, msg=lambda m: case["file"] + ": " + m)
`

// Plans of small programs compute what the programs do.
func TestPlansOfPrograms(t *testing.T) {
	testneeds.Torch.Need(t)
	operators := got(operator.Operators())
	folder := t.TempDir()
	must.OK(t, write(folder, got(pythonFiles("tool", operators))))
	var files []string
	for _, s := range small {
		text := strings.NewReplacer("LAYERS", s.layers, "FORWARD", s.forward, "INPUTS", s.inputs).Replace(smallProgram)
		files = append(files, filepath.Join(folder, s.name+".py"))
		must.OK(t, os.WriteFile(files[len(files)-1], []byte(text), 0o600))
	}
	const all = "import sys\nfrom autotune_capture.graph import main\nfor f in sys.argv[1:]: main(f, f + '.json')"
	runPython(t, folder, all, "", files...)
	type step map[string]any
	type evaluated struct {
		File  string         `json:"file"`
		Graph *program.Graph `json:"graph"`
		Steps []step         `json:"steps"`
	}
	var cases []evaluated
	for i, s := range small {
		f := got(os.Open(files[i] + ".json"))
		defer f.Close()
		p := got(program.NewPlan(got(program.Read(f)), operator.Find))
		var steps []step
		var words []string
		for _, s := range p.Steps {
			if s.Region != nil {
				steps = append(steps, evaluatedRegion(s.Region))
				words = append(words, strings.TrimSpace(s.Region.Operator+" "+steps[len(steps)-1]["own"].(string)))
			} else {
				steps = append(steps, step{"node": s.Node.Name})
				words = append(words, strings.Split(s.Node.Function, ".")[1])
			}
		}
		if line := strings.Join(words, " | "); s.want != "" && line != s.want {
			t.Errorf("%s: %s\nwant %s\n%s", s.name, line, s.want, p)
		}
		cases = append(cases, evaluated{files[i], p.Graph, steps})
	}
	functions := string(got(os.ReadFile("../../templates/include/functions.py")))
	runPython(t, folder, strings.Replace(evaluating, "FUNCTIONS", functions, 1), string(got(json.Marshal(cases))))
}

// evaluatedRegion is what Python needs to know of a region.
func evaluatedRegion(r *program.Region) map[string]any {
	x, text, own := r.Nodes[0], "x", ""
	tensors := [][3]any{}
	for _, in := range r.Inputs {
		if r.Operator == "elementwise" && in.Argument == "x" {
			x = in.Value
		} else if slices.Contains([]string{"w", "b"}, in.Argument) && r.Operator == "elementwise" || in.Argument[0] == 't' {
			tensors = append(tensors, [3]any{in.Argument, in.Value, in.Shape})
		}
	}
	for _, s := range r.Problem.Operator.Parameters {
		if value := r.Request.Parameters[s.Name]; s.Type == operator.ExpressionParameter && value != "x" && value != "" {
			text, own = s.Python(value, "F"), value
		}
	}
	shape := r.Problem.Output().Shape
	return map[string]any{"x": x, "text": text, "own": own, "tensors": tensors, "shape": shape, "output": r.Output}
}

func runPython(t *testing.T, folder, code, input string, arguments ...string) {
	t.Helper()
	command := exec.Command("python3", append([]string{"-c", code}, arguments...)...)
	command.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(folder, "python"))
	command.Stdin = strings.NewReader(input)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

func TestGraph(t *testing.T) {
	testneeds.Torch.Need(t)
	operators := got(operator.Operators())
	for _, test := range []struct{ forward, want, said string }{
		{"return self.l(x).relu()", "", ""},
		{"return self.l(x) if x.sum() > 0 else x", "data", ""},
		{"return x*x.max().item()", "is a number that depends on data", ""},
		{"return self.l(x, 3)", "takes 2 positional arguments but 3 were given", "Traceback"},
	} {
		text := strings.NewReplacer("LAYERS", "self.l = nn.Linear(4096, 1 << 20)", "FORWARD", test.forward, "INPUTS",
			"torch.randn(1 << 20, 4096)").Replace(smallProgram)
		file := filepath.Join(t.TempDir(), "model.py")
		must.OK(t, os.WriteFile(file, []byte(text), 0o600))
		if test.want != "" {
			small := strings.NewReplacer("1 << 20", "8").Replace(text)
			must.OK(t, os.WriteFile(file, []byte(small), 0o600))
		}
		g, err := Graph(context.Background(), "tool", operators, file)
		if test.want == "" {
			if err != nil || len(g.Nodes) != 2 || g.Nodes[0].Problem == nil || g.State[0].Path != "l.weight" {
				t.Errorf("%s: %+v, %v", test.forward, g, err)
			}
			continue
		}
		failed := (*ExportError)(nil)
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(failed.Said, test.said) {
			t.Errorf("%s: %v, want %s", test.forward, err, test.want)
		}
	}
}

// got is what a function gives, or the end of the test.
func got[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}
