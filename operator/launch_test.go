package operator

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
)

// stepsOperator has several launches, a word parameter, compiler flags and constant memory.
const stepsOperator = `operator: steps
summary: Several launches.
shape: [n]
example: "4096"
parameters:
  act: {type: word, choices: [relu, gelu], default: gelu}
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: c_taps, role: constant, shape: [3]}
  - {name: part, role: workspace, shape: [n]}
  - {name: y, role: output, shape: [n]}
cost: [8*n]
reference: steps.cu
templates:
  - name: direct
    source: steps.cu
    flags: ["-maxrregcount={32*regs}", "{'--use_fast_math' if act == 'relu' else ''}", "-DA=1 -DB=2"]
    tunables: {threads: [64, 256], regs: [1, 2], tree: [false, true]}
    launch:
      - {entry: clear, block: [1, 1, 1], grid: [1, 1, 1], arguments: [part], when: not tree}
      - {entry: "steps::sum<float, {threads//2}>", block: [threads, 1, 1], grid: ["ceil_div(n, threads)", 1, 1], arguments: [y, x, part], shared: 4*threads, dependent: true}
      - {entry: spread, block: [threads, 1, 1], grid: [8, 1, 1], cluster: [regs, 1, 1], cooperative: tree}
    default: {threads: 64, regs: 1, tree: false}
`

func loadSteps(t *testing.T, yaml string) (*Operator, error) {
	t.Helper()
	files := operatorFiles(yaml)
	files["steps.cu"] = files["reference.cu"]
	files["steps.cu"].Data = []byte("void steps_reference() {} void clear() {} namespace steps { void sum() {} } void spread() {} void steps_direct() {}")
	return Load(files, ".")
}

// The formulas for launches, compiler flags and word parameters are evaluated for each configuration, and launches keep
// their order.
func TestLaunches(t *testing.T) {
	o, err := loadSteps(t, stepsOperator)
	must.OK(t, err)
	p := bound(t, o, Request{Shape: []int64{1000}, Parameters: map[string]string{"act": "relu"}})
	kernel := func(threads, regs int64, tree bool) Kernel {
		k, err := p.Kernel(space.Configuration{Template: "direct", Values: space.Values{
			{Name: "threads", Value: expr.Int(threads)}, {Name: "regs", Value: expr.Int(regs)}, {Name: "tree", Value: expr.Bool(tree)},
		}})
		must.OK(t, err)
		return k
	}
	k := kernel(256, 2, false)
	want := Launches{
		{Entry: "clear", Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1}, Arguments: []string{"part"}},
		{Entry: "steps::sum<float, 128>", Grid: [3]int64{4, 1, 1}, Block: [3]int64{256, 1, 1}, SharedBytes: 1024, Dependent: true, Arguments: []string{"y", "x", "part"}},
		{Entry: "spread", Grid: [3]int64{8, 1, 1}, Block: [3]int64{256, 1, 1}, Cluster: [3]int64{2, 1, 1}},
	}
	if !reflect.DeepEqual(k.Launches, want) {
		t.Errorf("got  %v\nwant %v", k.Launches.Lines(), want.Lines())
	}
	if want := []string{"-maxrregcount=64", "--use_fast_math", "-DA=1", "-DB=2"}; !slices.Equal(k.Flags, want) {
		t.Errorf("flags are %q, want %q", k.Flags, want)
	}
	if macros := macrosText(k); !strings.Contains(macros, " ACT=relu ") {
		t.Errorf("macros are%s", macros)
	}
	var passed [][]int
	for _, l := range k.Launches {
		passed = append(passed, Passed(p.Arguments, l))
	}
	if want := [][]int{{2}, {3, 0, 2}, {0, 2, 3}}; !reflect.DeepEqual(passed, want) {
		t.Errorf("passed are %v, want %v", passed, want)
	}
	tree := kernel(64, 1, true)
	if lines := tree.Launches.Lines(); len(lines) != 2 || !strings.HasSuffix(lines[1], "block 64x1x1, cooperative") || tree.Launches[0].Dependent || tree.Digest() == k.Digest() {
		t.Errorf("without the first launch: %q", lines)
	}
	if text := p.String(); text != "steps 1000 act=relu" {
		t.Errorf("the problem is %s", text)
	}
}

// The space excludes launches that a GPU would refuse: clusters that do not divide the grid, and clusters on a GPU
// without clusters. A launch whose `when` is false excludes no configuration.
func TestLaunchesLimitTheSpace(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		arch           int
		want           int64
	}{
		{"all", "", "", 90, 8},
		{"no clusters on older GPUs", "", "", 80, 0},
		{"no dependent launches on older GPUs", "cluster: [regs, 1, 1], ", "", 80, 0},
		{"a grid of whole clusters", "grid: [8, 1, 1]", "grid: [regs*2 + 1, 1, 1]", 90, 4},
		{"nine blocks in a cluster", "cluster: [regs, 1, 1]", "cluster: [regs, 8, 1]", 90, 0},
		{"a launch left out", "{entry: clear, block: [1, 1, 1]", "{entry: clear, block: [2048, 1, 1]", 90, 4},
	} {
		o, err := loadSteps(t, strings.Replace(strings.Replace(stepsOperator, "example: \"4096\"\n", "", 1), test.old, test.new, 1))
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		limits := TypicalLimits()
		limits.Arch = test.arch
		p, err := o.Bind(Request{Shape: []int64{1000}}, limits)
		must.OK(t, err)
		s, err := p.Space(t.Context())
		if got := spaceSize(s); got != test.want || (err != nil) != (test.want == 0) {
			t.Errorf("%s: %d configurations, want %d (%v)", test.name, got, test.want, err)
		}
	}
}

func spaceSize(s *space.Space) int64 {
	if s == nil {
		return 0
	}
	return s.Len()
}

func TestLaunchesThatCannotBe(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"an unknown argument", "arguments: [part]", "arguments: [parts]", "no tensor or scalar that can be passed is called `parts`; did you mean `part`?"},
		{"one in constant memory", "arguments: [part]", "arguments: [taps]", "no tensor or scalar that can be passed is called `taps`"},
		{"an entry that is none", "entry: clear", "entry: clear it", "`clear it` does not name a kernel; as scale, or as"},
		{"an entry that is nowhere", "entry: clear", "entry: clean", "`steps.cu` does not define `clean`"},
		{"a suffix that is nowhere", "{entry: clear, ", "{entry: _clear, ", "`steps.cu` does not define `steps_direct_clear`"},
		{"an open brace", "{threads//2}>", "{threads//2>", "`{` without `}`"},
		{"an unknown name in a flag", "{32*regs}", "{32*reg}", "`reg` is not defined here; did you mean `regs`?"},
		{"nothing", stepsOperator[strings.Index(stepsOperator, "    launch:"):strings.Index(stepsOperator, "    default: {threads")], "    launch: []\n", "a template needs at least one launch"},
		{"a word that is none", "default: gelu", "default: gulu", "unknown choice `gulu`; did you mean `gelu`?"},
		{"words without choices", "choices: [relu, gelu], ", "", "`act` has no choices, which a parameter of words needs; as choices: [relu, gelu]"},
		{"a word with bounds", "choices: [relu, gelu],", "choices: [relu, gelu], range: [1],", "`range` has no place here: it is for numbers"},
	} {
		_, err := loadSteps(t, strings.Replace(stepsOperator, test.old, test.new, 1))
		refused(t, test.name, err, test.want)
	}
	o, err := loadSteps(t, stepsOperator)
	must.OK(t, err)
	_, err = o.Bind(Request{Shape: []int64{8}, Parameters: map[string]string{"act": "tanh"}}, TypicalLimits())
	if want := "`act` is one of relu, gelu; got `tanh`"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestLaunchesAsJSON(t *testing.T) {
	one := Launches{{Entry: "k", Grid: [3]int64{1, 2, 3}, Block: [3]int64{4, 5, 6}}}
	for _, l := range []Launches{nil, one, append(slices.Clone(one), Launch{Entry: "l", Cluster: [3]int64{2, 1, 1}, Cooperative: true, Arguments: []string{"x"}})} {
		text, err := json.Marshal(l)
		must.OK(t, err)
		var read Launches
		if err := json.Unmarshal(text, &read); err != nil || !reflect.DeepEqual(read, l) {
			t.Errorf("%s is read as %+v (%v)", text, read, err)
		}
	}
}

// packingOperator has a template with a workspace of its own.
const packingOperator = `operator: steps
summary: A template with a workspace.
shape: [n]
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: y, role: output, shape: [n]}
cost: [8*n]
reference: steps.cu
templates:
  - name: plain
    source: steps.cu
    launch: {entry: clear, block: [32, 1, 1], grid: [1, 1, 1]}
  - name: direct
    source: steps.cu
    when: n > 10
    tunables: {threads: [64, 256]}
    derived: {padded: "ceil_div(n, 64)*64", blocks: "ceil_div(padded, threads)", twice: 2*padded}
    workspaces:
      - {name: packed, shape: [2, twice]}
      - {name: counts, type: i32, shape: [1]}
    launch:
      - {entry: clear, block: [1, 1, 1], grid: [1, 1, 1], arguments: [counts]}
      - {entry: spread, block: [threads, 1, 1], grid: [blocks, 1, 1], arguments: [x, packed, y]}
      - {entry: steps::sum, block: [threads, 1, 1], grid: [blocks, 1, 1]}
    default: {threads: 64}
`

// A template's workspace has the same size for all configurations, and is passed to launches that name it.
func TestWorkspacesOfATemplate(t *testing.T) {
	o, err := loadSteps(t, packingOperator)
	must.OK(t, err)
	for _, test := range []struct {
		n, packed, counts int64
	}{{100, 2 * 2 * 128, 1}, {10, 0, 0}} {
		p := bound(t, o, Request{Shape: []int64{test.n}})
		packed, counts := p.Arguments[2], p.Arguments[3]
		if packed.Owner != "direct" || packed.Elements != test.packed || counts.Type != I32 || counts.Elements != test.counts {
			t.Errorf("n = %d: %+v, %+v", test.n, packed, counts)
		}
		if got := p.MemoryBytes(); got != 4*(2*test.n+test.packed+test.counts) {
			t.Errorf("n = %d: %d bytes", test.n, got)
		}
		reference := referenceOf(t, p)
		if got := Passed(p.Arguments, reference.Launches[0]); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("the reference is passed %v", got)
		}
	}
	p, _ := o.Bind(Request{Shape: []int64{100}}, TypicalLimits())
	k := kernelAt(t, p, space.Configuration{Template: "direct", Values: o.Templates[1].Default.Values})
	for i, want := range [][]int{{3}, {0, 2, 1}, {0, 1}} {
		if got := Passed(p.Arguments, k.Launches[i]); !slices.Equal(got, want) {
			t.Errorf("launch %d is passed %v, want %v", i, got, want)
		}
	}
}

func TestBadWorkspaces(t *testing.T) {
	for _, test := range []struct{ was, is, want string }{
		{"[2, twice]", "[blocks]", "the shape of `packed` depends on a tunable, by `blocks`"},
		{"[2, twice]", "[threads]", "the shape of `packed` depends on a tunable, by `threads`"},
		{"name: packed", "name: x", "two tensors are called `x`"},
		{"type: i32", "role: input", "`role` has no place here: a workspace has a name, a type and a shape"},
		{"launch: {entry: clear,", "launch: {entry: clear, arguments: [packed],", "no tensor or scalar that can be passed is called `packed`"},
	} {
		_, err := loadSteps(t, strings.Replace(packingOperator, test.was, test.is, 1))
		refused(t, test.is, err, test.want)
	}
}
