package operator

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Trials of before an edit are evidence only where the edit cannot change their outcome.
// The test edits each key that the loader knows, and asks whether the digests follow.

const evidenceOperator = `operator: scale
summary: Scales.
shape: [n]
example: 64
parameters:
  times: {type: int, summary: of nothing, default: 3, min: 1, max: 9}
derived: {half: n // 2}
requires:
  - {that: n > 0, because: "n is {n}"}
macros: upper
tensors:
  - {name: x, role: input, type: f32, shape: [n], fill: "uniform(0, 1)"}
  - {name: w, role: weight, shape: [n], scale: 0.5}
  - {name: a, type: f32, value: 2*times}
  - {name: c, role: input, shape: [2], symbol: c_first}
  - {name: y, role: output, shape: [n], atol: 0.5, rtol: 0.25}
  - {name: z, role: output, shape: [n]}
inputs: [normal, uniform01]
deterministic: true
cost: {bytes: 8*n, flops: n}
math: {modes: [fp32, tf32], auto: "'fp32'"}
tolerance: {atol: 0.001, rtol: 0.1}
metrics: {rate: n / time}
reference: reference.cu
templates:
  - name: direct
    summary: of nothing
    source: direct.cu
    entry: scale_direct
    when: n > 1
    flags: ["-DA=1"]
    tunables: {vec: [1, 2, 4]}
    derived: {tiles: "ceil_div(n, vec)"}
    workspaces:
      - {name: scratch, type: f32, shape: [n]}
    constraints: [vec <= 4]
    estimate: vec
    launch: {block: [32, 1, 1], grid: [tiles, 1, 1], shared: 0, cluster: [1, 1, 1], cooperative: false, dependent: false, arguments: [x, w, a, y, z, scratch]}
    default: {vec: 1}
`

// An edit of a key puts one text in another's place.
type edit struct{ old, new string }

// harmless are keys that no outcome of a trial depends on: they say what is shown, and
// which configurations and problems there are.
var harmless = map[string]edit{
	"an operator/summary": {"summary: Scales.", "summary: Other."}, "an operator/example": {"example: 64", "example: 32"},
	"an operator/requires": {"that: n > 0", "that: n > 1"}, "an operator/metrics": {"n / time", "2*n / time"},
	"a requirement/that": {"that: n > 0", "that: n > 1"}, "a requirement/because": {"n is {n}", "it is {n}"},
	"a parameter/summary": {"type: int, summary: of nothing", "type: int, summary: other"},
	"a parameter/min":     {"min: 1", "min: 2"}, "a parameter/max": {"max: 9", "max: 8"},
	"a parameter/choices": {"min: 1, max: 9", "choices: [3, 4]"},
	"a template/summary":  {"    summary: of nothing", "    summary: other"}, "a template/when": {"when: n > 1", "when: n > 2"},
	"a template/constraints": {"[vec <= 4]", "[vec <= 2]"}, "a template/estimate": {"estimate: vec", "estimate: 2*vec"},
	"a template/tunables": {"vec: [1, 2, 4]", "vec: [1, 2]"}, "a template/default": {"default: {vec: 1}", "default: {vec: 2}"},
	"a metric/value": {"rate: n / time", "rate: {value: n / time}"}, "a metric/best": {"rate: n / time", "rate: {value: n / time, best: max}"},
	"a template/free": {"    flags:", "    free: [n]\n    flags:"}, "a template/keep": {"    flags:", "    free: [n]\n    keep: [tiles]\n    flags:"},
	"a comment": {"operator: scale\n", "# a comment\n\noperator: scale\n"}, "the same formula otherwise": {"8*n", "n*8"},
	"another template": {"templates:\n", "templates:\n  - {name: more, source: other.cu, entry: scale_direct, launch: {block: [1, 1, 1], grid: [1, 1, 1]}}\n"},
}

// decisive are keys that an outcome depends on.
var decisive = map[string]edit{
	"an operator/operator": {"operator: scale", "operator: other"}, "an operator/shape": {"shape: [n]\nexample: 64", "shape: [n, m]\nexample: 64x1"},
	"an operator/parameters": {"default: 3", "default: 4"}, "an operator/preset": {"derived: {half", "preset: {times: 5}\nderived: {half"},
	"an operator/derived": {"n // 2", "n // 4"}, "an operator/macros": {"macros: upper", "macros: same"},
	"an operator/tensors": {", scale: 0.5", ", scale: 0.25"}, "an operator/inputs": {"[normal, uniform01]", "[normal, uniform01, special]"},
	"an operator/deterministic": {"deterministic: true", "deterministic: false"}, "an operator/cost": {"8*n", "9*n"},
	"an operator/math": {"auto: \"'fp32'\"", "auto: \"'tf32'\""}, "an operator/tolerance": {"atol: 0.001", "atol: 0.002"},
	"an operator/compare":   {"tolerance: {atol: 0.001, rtol: 0.1}", "compare: {kernel: compare.cu, bound: 1}"},
	"an operator/reference": {"reference: reference.cu", "reference: other.cu"}, "an operator/templates": {"[32, 1, 1]", "[64, 1, 1]"},
	"a parameter/type":    {"{type: int, summary: of nothing, default: 3, min: 1, max: 9}", "{type: bool, default: true}"},
	"a parameter/pair":    {"{type: int, summary: of nothing, default: 3, min: 1, max: 9}\n", "{default: 3}\n  more: {pair: true, default: 3}\n"},
	"a parameter/triple":  {"{type: int, summary: of nothing, default: 3, min: 1, max: 9}\n", "{default: 3}\n  more: {triple: true, default: 3}\n"},
	"a parameter/default": {"default: 3", "default: 4"}, "a parameter/later": {"max: 9}", "max: 9, later: true}"},
	"a tensor/name": {"z", "zed"}, "a tensor/role": {"name: z, role: output", "name: z, role: inout"},
	"a tensor/type": {"role: input, type: f32", "role: input, type: f16"}, "a tensor/shape": {"role: weight, shape: [n]", "role: weight, shape: [2*n]"},
	"a tensor/scale": {"scale: 0.5", "scale: 0.25"}, "a tensor/fill": {"uniform(0, 1)", "uniform(0, 2)"},
	"a tensor/value": {"value: 2*times", "value: 3*times"}, "a tensor/symbol": {"c_first", "c_second"},
	"a tensor/atol": {"atol: 0.5", "atol: 0.75"}, "a tensor/rtol": {"rtol: 0.25", "rtol: 0.5"},
	"cost/bytes": {"8*n", "9*n"}, "cost/flops": {"flops: n", "flops: 2*n"}, "tolerance/atol": {"atol: 0.001", "atol: 0.002"},
	"tolerance/rtol": {"rtol: 0.1}", "rtol: 0.2}"}, "math/auto": {"auto: \"'fp32'\"", "auto: \"'tf32'\""}, "math/modes": {"[fp32, tf32]", "[fp32]"},
	"a template/source": {"source: direct.cu", "source: other.cu"}, "a template/entry": {"entry: scale_direct", "entry: scale_second"},
	"a template/flags": {"-DA=1", "-DA=2"}, "a template/derived": {"ceil_div(n, vec)", "ceil_div(n, 2*vec)"},
	"a template/workspaces": {"name: scratch, type: f32, shape: [n]", "name: scratch, type: f32, shape: [3*n]"},
	"a template/launch":     {"[32, 1, 1]", "[64, 1, 1]"},
	"a template/launches":   {"launches", ""},
	"a workspace/name":      {"scratch", "scrap"}, "a workspace/type": {"scratch, type: f32", "scratch, type: f64"},
	"a workspace/shape": {"scratch, type: f32, shape: [n]", "scratch, type: f32, shape: [3*n]"},
	"a launch/block":    {"[32, 1, 1]", "[64, 1, 1]"}, "a launch/grid": {"[tiles, 1, 1]", "[2*tiles, 1, 1]"},
	"a launch/shared": {"shared: 0", "shared: 64"}, "a launch/cluster": {"cluster: [1, 1, 1]", "cluster: [2, 1, 1]"},
	"a launch/cooperative": {"cooperative: false", "cooperative: true"},
	"fill/kernel":          {"\"uniform(0, 1)\"", "{kernel: fill.cu}"},
	"fill/entry":           {"\"uniform(0, 1)\"", "{kernel: fill.cu, entry: fill_second}"},
	"compare/kernel":       {"tolerance: {atol: 0.001, rtol: 0.1}", "compare: {kernel: compare.cu}"},
	"compare/entry":        {"tolerance: {atol: 0.001, rtol: 0.1}", "compare: {kernel: compare.cu, entry: compare_second}"},
	"compare/bound":        {"tolerance: {atol: 0.001, rtol: 0.1}", "compare: {kernel: compare.cu, bound: 2}"},
	"a reference/template": {"reference: reference.cu", "reference: {template: direct}"},
	"a reference/python":   {"reference: reference.cu", "reference: {python: ref.py}"},
	"a launch/arguments":   {"[x, w, a, y, z, scratch]", "[x, a, w, y, z, scratch]"},
}

// elsewhere are keys whose effect other tests hold.
var elsewhere = map[string]string{
	"an operator/pytorch":    "harmless: a baseline, and what `export --format pytorch` wraps",
	"math/variants":          "headers, which TestDigest changes, and macros: TestMathVariants",
	"math/ask":               "chooses the mode, which math/auto changes",
	"a tensor/order":         "of tensors of three dimensions and more: TestParameterNamesOrder",
	"a parameter/of":         "macros: TestExpressions",
	"a parameter/functions":  "what a value may be: TestExpressions",
	"a launch/dependent":     "only of a later launch: TestDigest",
	"a template/name":        "part of a configuration",
	"a template/include":     "takes the other keys from a fragment: TestIncludeIsTheSameOperator",
	"a template/axes":        "another way to write formulas: TestIncludeIsTheSameOperator",
	"a template/let":         "another way to write formulas: TestIncludeIsTheSameOperator",
	"an operator/include":    "takes the other keys from a fragment: TestIncludeIsTheSameOperator",
	"an operator/let":        "another way to write formulas: TestIncludeIsTheSameOperator",
	"an operator/axes":       "another way to write formulas: TestIncludeIsTheSameOperator",
	"a parameter/axes":       "another way to say pair and triple: TestIncludeIsTheSameOperator",
	"a template/headers":     "headers, which TestDigest changes",
	"a template/tensor_maps": "words, which belong to a launch: TestTensorMaps",
	"a tensor map/name":      "words, which belong to a launch: TestTensorMaps",
	"a tensor map/of":        "words, which belong to a launch: TestTensorMaps",
	"a tensor map/when":      "words, which belong to a launch: TestTensorMaps",
	"a tensor map/bytes":     "words, which belong to a launch: TestTensorMaps",
	"a tensor map/rounded":   "words, which belong to a launch: TestTensorMaps",
	"a tensor map/swizzle":   "words, which belong to a launch: TestTensorMaps",
	"a tensor map/extents":   "words, which belong to a launch: TestTensorMaps",
	"a tensor map/strides":   "words, which belong to a launch: TestTensorMaps",
	"a tensor map/box":       "words, which belong to a launch: TestTensorMaps",
	"a tensor map/steps":     "words, which belong to a launch: TestTensorMaps",
	"fill/npy":               "contents: TestReferenceDigest",
	"a reference/npy":        "contents: TestReferenceDigest",
	"a reference/seconds":    "harmless: when to stop waiting",
	"a variant/of":           "macros: TestMathVariant",
	"a variant/headers":      "headers: TestMathVariant",
	"pytorch/module":         "harmless, as is an operator/pytorch",
	"pytorch/general":        "harmless, as is an operator/pytorch",
	"pytorch/gradients":      "harmless, as is an operator/pytorch",
	"pytorch/arguments":      "harmless, as is an operator/pytorch",
	"pytorch/calls":          "harmless, as is an operator/pytorch",
	"a listed launch/entry":  "the kernel's name, as a template/entry",
	"a listed launch/suffix": "the kernel's name, as a template/entry",
	"a listed launch/when":   "which launches there are, as a template/launches",
}

func evidenceFiles(yaml string) fstest.MapFS {
	kernel := func(names ...string) *fstest.MapFile {
		var text strings.Builder
		for _, name := range names {
			text.WriteString("extern \"C\" __global__ void " + name + "() {}\n")
		}
		return &fstest.MapFile{Data: []byte(text.String())}
	}
	return fstest.MapFS{
		"op.yaml": {Data: []byte(yaml)}, "reference.cu": kernel("scale_reference", "other_reference"),
		"direct.cu": kernel("scale_direct", "scale_second"), "other.cu": kernel("scale_direct", "scale_reference", "more"),
		"compare.cu": kernel("scale_compare", "compare_second"), "fill.cu": kernel("scale_fill", "fill_second"),
		"ref.py": {Data: []byte("def reference(x): return x")},
	}
}

// evidence is what trials of the default configuration, vec=1, are kept under.
func evidence(t *testing.T, yaml string, free ...string) [2]string {
	t.Helper()
	o := loaded(t, evidenceFiles(yaml))
	p := bound(t, o, Request{Shape: []int64{64, 1}[:len(o.Shape)], Free: free})
	direct, _ := o.Template("direct")
	c := direct.Default
	c.Values = slices.Clone(c.Values)
	c.Values[0].Value = direct.Tunables[0].Values[0]
	k := kernelAt(t, p, c)
	reference, err := p.ReferenceDigest()
	must(t, err)
	return [2]string{k.Digest(), reference}
}

func edited(t *testing.T, e edit) string {
	t.Helper()
	if e.old == "launches" { // the same launch, and a second one
		head, rest, _ := strings.Cut(evidenceOperator, "    launch: {")
		launch, tail, _ := strings.Cut(rest, "\n")
		head = strings.Replace(head, "    entry: scale_direct\n", "", 1)
		one := "      - {entry: scale_direct, " + launch + "\n"
		return head + "    launches:\n" + one + one + tail
	}
	if strings.Count(evidenceOperator, e.old) == 0 {
		t.Fatalf("the operator has no %q", e.old)
	}
	return strings.ReplaceAll(evidenceOperator, e.old, e.new)
}

func TestEvidenceFollowsEachKey(t *testing.T) {
	before := evidence(t, evidenceOperator)
	for key, e := range harmless {
		t.Run(key, func(t *testing.T) {
			if evidence(t, edited(t, e)) != before {
				t.Error("it changes nothing of a trial, and the trials of before are no evidence")
			}
		})
	}
	for key, e := range decisive {
		t.Run(key, func(t *testing.T) {
			if evidence(t, edited(t, e)) == before {
				t.Error("it changes trials, and those of before are evidence still")
			}
		})
	}
}

// What a template keeps constant changes its kernel where dimensions are free, and only there.
func TestEvidenceOfFreeDimensions(t *testing.T) {
	free, kept := edited(t, harmless["a template/free"]), edited(t, harmless["a template/keep"])
	if evidence(t, free, "n") == evidence(t, free) {
		t.Error("a kernel that takes n when it runs has the trials of one that does not")
	}
	if evidence(t, free, "n") == evidence(t, kept, "n") {
		t.Error("a kernel that reads a value when it runs has the trials of one with a constant")
	}
}

// Each key that the loader knows must be in one of the tables. A launch of several has the keys of a single one.
func TestEvidenceKnowsEachKey(t *testing.T) {
	known := slices.Concat(slices.Collect(maps.Keys(harmless)), slices.Collect(maps.Keys(decisive)), slices.Collect(maps.Keys(elsewhere)))
	for what, keys := range mappings() {
		for _, key := range keys {
			if what == "a listed launch" && slices.Contains(mappings()["a launch"], key) {
				continue
			}
			if what != "a problem" && !slices.Contains(known, what+"/"+key.name) {
				t.Errorf("nobody says whether trials depend on the key `%s` of %s", key.name, what)
			}
		}
	}
}
