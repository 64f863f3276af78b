package operator

import (
	"slices"
	"strings"
	"testing"

	"autotune/space"
)

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

// A template's workspaces are as large for all configurations, and passed where a launch
// of the template's names them.
func TestWorkspacesOfATemplate(t *testing.T) {
	o, err := loadSteps(t, packingOperator)
	must(t, err)
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
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.is, err, test.want)
		}
	}
}
