package operator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/space"
)

// likeDirect is a template beside goodOperator's.
const likeDirect = goodOperator + `  - name: again
    include: direct
    headers: {deeper.cuh: other.cuh}
    tunables: {block_x: [32, 64], rows: [1, 2]}
    derived: {chunk: block_x*rows}
    constraints: [chunk != 64 or rows == 2]
    default: {block_x: 32, rows: 1}
`

func likeFiles(yaml string) (*Operator, error) {
	files := mathFiles("")
	files["op.yaml"].Data = []byte(yaml)
	return Load(files, ".")
}

// A template that is like another is the same kernel of other tunables and headers, and
// leaves the other as it is.
func TestTemplateLikeAnother(t *testing.T) {
	o, err := likeFiles(likeDirect)
	must(t, err)
	p := bound(t, o, Request{Shape: []int64{4, 100}})
	again := kernelAt(t, p, o.Templates[1].Default)
	if again.File != "direct.cu" || again.Launches[0].Entry != "scale_direct" || again.Launches[0].Grid != [3]int64{4, 4, 1} || again.Launches[0].SharedBytes != 128 {
		t.Errorf("%s, %+v", again.File, again.Launches)
	}
	if !strings.Contains(again.Includes["deeper.cuh"], "// other") || again.Includes["more.cuh"] == "" || len(again.Includes) != 3 {
		t.Errorf("it includes %v", again.Includes)
	}
	for _, m := range again.Macros {
		if m.Name == "VEC" || m.Name == "WIDE" {
			t.Errorf("it has the other's %s", m.Name)
		}
	}
	if o.Templates[1].When == nil || len(o.Templates[1].Constraints) != 2 {
		t.Errorf("when %v, where %v", o.Templates[1].When, o.Templates[1].Constraints)
	}
	s := spaceOf(t, p)
	count := 0
	for i := range s.Len() {
		if s.At(i).Template == "again" {
			count++
		}
	}
	if count != 3 { // of four, 64 x 1 is not valid
		t.Errorf("%d configurations", count)
	}

	alone, err := likeFiles(goodOperator)
	must(t, err)
	q := bound(t, alone, Request{Shape: []int64{4, 100}})
	want, _ := q.Kernel(alone.Templates[0].Default)
	if got, err := p.Kernel(o.Templates[0].Default); err != nil || got.Digest() != want.Digest() {
		t.Errorf("direct is another kernel where there is one like it: %v", err)
	}
}

func TestBadLikes(t *testing.T) {
	for old, fault := range map[string][2]string{
		"include: direct":         {"include: again", "op.yaml:37:14: unknown earlier template `again`; there are direct"},
		"deeper.cuh: other":       {"deep.cuh: other", "op.yaml:38:15: `direct.cu` does not include `deep.cuh`; did you mean `deeper.cuh`?"},
		"other.cuh":               {"none.cuh", "op.yaml:38:27: the file `none.cuh` is neither in the operator's folder nor a shared one"},
		"{deeper.cuh: other.cuh}": {"[other.cuh]", "headers must be a mapping of names that kernels include to files"},
		"chunk: block_x*rows":     {"more: block_x", "op.yaml:32:22: `vec` is not defined here"}, // of the one that it is like
		"rows: [1":                {"area: [1", "the tunable `area` has the name of a derived value"},
	} {
		_, err := likeFiles(strings.Replace(likeDirect, old, fault[0], 1))
		if err == nil || !strings.Contains(err.Error(), fault[1]) {
			t.Errorf("%s for %s: %v; want %q", fault[0], old, err, fault[1])
		}
	}
}

const likeSteps = packingOperator + `  - name: again
    include: direct
    when: n <= 10 and n > 1
    tunables: {threads: [32]}
    derived: {blocks: "2*ceil_div(padded, threads)"}
    default: {threads: 32}
`

// A template that is like another has its workspaces. They are there where either of the two
// serves.
func TestWorkspacesOfBoth(t *testing.T) {
	o, err := loadSteps(t, likeSteps)
	must(t, err)
	for n, elements := range map[int64]int64{100: 2 * 2 * 128, 5: 2 * 2 * 64, 1: 0} {
		p := bound(t, o, Request{Shape: []int64{n}})
		if got := p.Arguments[2].Elements; got != elements || len(p.Arguments) != 4 {
			t.Errorf("n = %d: %d elements, %d arguments", n, got, len(p.Arguments))
		}
		k := kernelAt(t, p, space.Configuration{Template: "again", Values: o.Templates[2].Default.Values})
		if got := Passed(p.Arguments, k.Launches[1]); !slices.Equal(got, []int{0, 2, 1}) || k.Launches[1].Grid[0] != 4*((n+63)/64) {
			t.Errorf("n = %d: passed %v, %+v", n, got, k.Launches[1])
		}
	}
	_, err = loadSteps(t, strings.Replace(likeSteps, "{blocks: \"2*ceil_div(padded, threads)\"}", "{padded: \"ceil_div(n, 32)*32\"}", 1))
	if want := "the shapes of workspaces that are template `direct`'s too depend on `padded`"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A file of many templates that are like each other is refused in a moment.
func TestManyLikes(t *testing.T) {
	var long strings.Builder
	long.WriteString(strings.Replace(goodOperator, "constraints: [chunk <= 256]", "constraints: [chunk <= 256"+strings.Repeat(", vec > 0", 8000)+"]", 1))
	for i := range 1200 {
		fmt.Fprintf(&long, "  - {name: t%d, include: direct, tunables: {block_x: [1], vec: [1], wide: [false]}, default: {block_x: 1, vec: 1, wide: false}}\n", i)
	}
	start := time.Now()
	_, err := likeFiles(long.String())
	if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "is more than 60000 values") || took > 30*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}
