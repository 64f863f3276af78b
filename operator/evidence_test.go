package operator

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/internal/test/must"
)

// Recorded trials stay valid after an edit only if the edit cannot change their outcome. The tests in this file edit
// each key that the loader knows, and check whether the digests change.

const evidenceOperator = `operator: scale
summary: Scales.
shape: [n]
example: 64
parameters:
  times: {type: int, summary: of nothing, default: 3, range: [1]}
derived: {half: n // 2}
requires: {n > 0: "n is {n}"}
macros: upper
tensors:
  - {name: x, role: input, type: f32, shape: [n], fill: "uniform(0, 1)"}
  - {name: w, role: weight, shape: [n], fill: within(0.5)}
  - {name: a, type: f32, value: 2*times}
  - {name: c_first, role: constant, shape: [2]}
  - {name: y, role: output, shape: [n], tolerance: [0.5, 0.25]}
  - {name: z, role: output, shape: [n]}
inputs: [normal, uniform01]
deterministic: true
cost: [8*n, n]
math: [fp32, tf32]
auto: "'fp32'"
tolerance: [0.001, 0.1]
reference: reference.cu
templates:
  - name: direct
    summary: of nothing
    source: direct.cu
    when: n > 1
    flags: ["-DA=1"]
    tunables: {vec: [1, 2, 4]}
    derived: {tiles: "ceil_div(n, vec)"}
    workspaces:
      - {name: scratch, type: f32, shape: [n]}
    constraints: [vec <= 4]
    estimate: vec
    launch: {entry: scale_direct, block: [32], grid: [tiles], when: n > 0, shared: 0, cluster: [1], cooperative: false, dependent: false, arguments: [x, w, a, y, z, scratch]}
    default: {vec: 1}
`

// edit replaces a text of op.yaml by another one, to change a key.
type edit struct{ old, new string }

// harmless lists keys of op.yaml that affect no trial's outcome, only what is shown or what can be searched.
var harmless = map[string]edit{
	"an operator/summary": {"summary: Scales.", "summary: Other."}, "an operator/example": {"example: 64", "example: 32"},
	"an operator/requires": {"n > 0:", "n > 1:"},
	"a parameter/summary":  {"type: int, summary: of nothing", "type: int, summary: other"},
	"a parameter/range":    {"range: [1]", "range: [1, 9]"},
	"a parameter/choices":  {"range: [1]", "choices: [3, 4]"},
	"a template/summary":   {"    summary: of nothing", "    summary: other"}, "a template/when": {"when: n > 1", "when: n > 2"},
	"a template/constraints": {"[vec <= 4]", "[vec <= 2]"}, "a template/estimate": {"estimate: vec", "estimate: 2*vec"},
	"a template/tunables": {"vec: [1, 2, 4]", "vec: [1, 2]"}, "a template/default": {"default: {vec: 1}", "default: {vec: 2}"},
	"a template/free": {"    flags:", "    free: [n]\n    flags:"}, "a template/keep": {"    flags:", "    free: [n]\n    keep: [tiles]\n    flags:"},
	"a comment": {"operator: scale\n", "# a comment\n\noperator: scale\n"}, "the same formula otherwise": {"8*n", "n*8"},
	"another template": {"templates:\n", "templates:\n  - {name: more, source: other.cu, launch: {entry: scale_direct, block: [1], grid: [1]}}\n"},
}

// decisive lists keys of op.yaml that affect the outcome of trials.
var decisive = map[string]edit{
	"an operator/operator": {"operator: scale", "operator: other"}, "an operator/shape": {"shape: [n]\nexample: 64", "shape: [n, m]\nexample: 64x1"},
	"an operator/parameters": {"default: 3", "default: 4"}, "the example's parameters": {"example: 64", "example: 64 times=5"},
	"an operator/derived": {"n // 2", "n // 4"}, "an operator/macros": {"macros: upper", "macros: same"},
	"an operator/tensors": {"within(0.5)", "within(0.25)"}, "an operator/inputs": {"[normal, uniform01]", "[normal, uniform01, special]"},
	"an operator/deterministic": {"deterministic: true", "deterministic: false"}, "an operator/cost": {"8*n", "9*n"},
	"an operator/math": {"[fp32, tf32]", "[fp32]"}, "an operator/tolerance": {"0.001, 0.1", "0.002, 0.1"},
	"a kernel that compares": {"tolerance: [0.001, 0.1]", "tolerance: compare.cu"},
	"an operator/reference":  {"reference: reference.cu", "reference: other.cu"}, "an operator/templates": {"block: [32]", "block: [64]"},
	"a parameter/type":    {"{type: int, summary: of nothing, default: 3, range: [1]}", "{type: bool, default: true}"},
	"a parameter/default": {"default: 3", "default: 4"}, "a parameter/later": {"range: [1]}", "range: [1], later: true}"},
	"a tensor/name": {"z", "zed"}, "a tensor/role": {"name: z, role: output", "name: z, role: inout"},
	"a tensor/type": {"role: input, type: f32", "role: input, type: f16"}, "a tensor/shape": {"role: weight, shape: [n]", "role: weight, shape: [2*n]"},
	"a tensor/fill":  {"uniform(0, 1)", "uniform(0, 2)"},
	"a tensor/value": {"value: 2*times", "value: 3*times"}, "a variable of constant memory": {"c_first", "c_second"},
	"a tensor/tolerance": {"[0.5, 0.25]", "[0.75, 0.25]"}, "its relative part": {"[0.5, 0.25]", "[0.5, 0.5]"},
	"the operations": {"[8*n, n]", "[8*n, 2*n]"}, "the relative tolerance": {"0.001, 0.1", "0.001, 0.2"}, "an operator/auto": {"auto: \"'fp32'\"", "auto: \"'tf32'\""},
	"a template/source": {"source: direct.cu", "source: other.cu"}, "a launch/entry": {"entry: scale_direct", "entry: scale_second"},
	"a template/flags": {"-DA=1", "-DA=2"}, "a template/derived": {"ceil_div(n, vec)", "ceil_div(n, 2*vec)"},
	"a template/workspaces": {"name: scratch, type: f32, shape: [n]", "name: scratch, type: f32, shape: [3*n]"},
	"a template/launch":     {"block: [32]", "block: [64]"},
	"several launches":      {"launches", ""},
	"a workspace's name":    {"scratch", "scrap"}, "a workspace's type": {"scratch, type: f32", "scratch, type: f64"},
	"a launch/block": {"block: [32]", "block: [64]"}, "a launch/grid": {"[tiles]", "[2*tiles]"},
	"a launch/shared": {"shared: 0", "shared: 64"}, "a launch/cluster": {"cluster: [1]", "cluster: [2]"},
	"a launch/cooperative": {"cooperative: false", "cooperative: true"},
	"a kernel that fills":  {"\"uniform(0, 1)\"", "fill.cu"},
	"a template is right":  {"reference: reference.cu", "reference: direct"},
	"Python is right":      {"reference: reference.cu", "reference: ref.py"},
	"a launch/arguments":   {"[x, w, a, y, z, scratch]", "[x, a, w, y, z, scratch]"},
}

// elsewhere lists the keys of op.yaml whose effect on digests other tests check.
var elsewhere = map[string]string{
	"an operator/pytorch":    "harmless: a baseline, and what `export --format pytorch` wraps",
	"a tensor/order":         "of tensors of three dimensions and more: TestParameterNamesOrder",
	"a parameter/functions":  "what a value may be: TestExpressions",
	"a parameter/axes":       "a problem's arguments: TestEpilogueOfTensors",
	"a launch/dependent":     "only of a later launch: TestDigest",
	"a template/name":        "part of a configuration",
	"a template/let":         "another way to write formulas: TestIncludeIsTheSameOperator",
	"an operator/let":        "another way to write formulas: TestIncludeIsTheSameOperator",
	"an operator/axes":       "another way to write formulas: TestIncludeIsTheSameOperator",
	"a template/tensor_maps": "words, which belong to a launch: TestTensorMaps",
	"a tensor map/name":      "words, which belong to a launch: TestTensorMaps",
	"a tensor map/of":        "words, which belong to a launch: TestTensorMaps",
	"a tensor map/when":      "words, which belong to a launch: TestTensorMaps",
	"a tensor map/type":      "words, which belong to a launch: TestTensorMaps",
	"a tensor map/swizzle":   "words, which belong to a launch: TestTensorMaps",
	"a tensor map/axes":      "words, which belong to a launch: TestTensorMaps",
	"pytorch/files":          "harmless, as is an operator/pytorch",
	"pytorch/arguments":      "harmless, as is an operator/pytorch",
	"pytorch/calls":          "harmless, as is an operator/pytorch",
	"a launch/when":          "which launches there are",
	"pytorch/means":          "harmless, as is an operator/pytorch",
	"a call/arguments":       "harmless, as is an operator/pytorch",
	"a call/means":           "harmless, as is an operator/pytorch",
	"an argument/is":         "harmless, as is an operator/pytorch",
	"an argument/fold":       "harmless, as is an operator/pytorch",
	"an argument/default":    "harmless, as is an operator/pytorch",
	"an argument/words":      "harmless, as is an operator/pytorch",
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

// evidence returns the two digests that trials of the default configuration, vec=1, are stored under.
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
	must.OK(t, err)
	return [2]string{k.Digest(), reference}
}

func edited(t *testing.T, e edit) string {
	t.Helper()
	if e.old == "launches" { // the same launch with a second one behind it
		head, rest, _ := strings.Cut(evidenceOperator, "    launch: {")
		launch, tail, _ := strings.Cut(rest, "\n")
		one := "      - {" + launch + "\n"
		return head + "    launch:\n" + one + one + tail
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

// Values that a template keeps constant (`keep`) change its kernel only if dimensions are free.
func TestEvidenceOfFreeDimensions(t *testing.T) {
	free, kept := edited(t, harmless["a template/free"]), edited(t, harmless["a template/keep"])
	if evidence(t, free, "n") == evidence(t, free) {
		t.Error("a kernel that takes n when it runs has the trials of one that does not")
	}
	if evidence(t, free, "n") == evidence(t, kept, "n") {
		t.Error("a kernel that reads a value when it runs has the trials of one with a constant")
	}
}

// Each key that the loader knows must be in one of the tables harmless, decisive and elsewhere.
func TestEvidenceKnowsEachKey(t *testing.T) {
	known := slices.Concat(slices.Collect(maps.Keys(harmless)), slices.Collect(maps.Keys(decisive)), slices.Collect(maps.Keys(elsewhere)))
	for what, keys := range mappings() {
		for _, key := range keys {
			if what != "a problem" && !slices.Contains(known, what+"/"+key.name) {
				t.Errorf("nobody says whether trials depend on the key `%s` of %s", key.name, what)
			}
		}
	}
}
