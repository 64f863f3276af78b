package operator

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/templates"
)

// axesOperator is plainOperator written once for all axes, in a file that operators can share.
const axesOperator = `operator: scale
summary: Scales.
shape: [n, h, w]
axes: [h, w]
include: family.yaml
example: 4x10x100
derived:
  twice: rounded(n, 2)
templates:
  - name: direct
    source: direct.cu
    let: {lanes: threads*2}
    tunables: {threads: [32, 64]}
    constraints: [$ > 1, lanes <= 128]
    launch: {block: [threads, 1, 1], grid: ["ceil_div(n*outputs, lanes)", 1, 1]}
    default: {threads: 32}
  - name: again
    include: direct
    tunables: {threads: [32]}
    constraints: [lanes == 64]
    default: {threads: 32}
`

const family = `# What operators of any axes have in common.
let:
  outputs: product($_out)
  rounded(x, to): ceil_div(x, to)*to # up
  both(x): rounded(x, 2)
parameters:
  kernel: {type: ints, default: 2, range: [1]}
derived:
  $_out: $ - kernel_$ + 1
requires:
  all($ >= max(kernel_$, min(1, product(kernel_$))) - 9): never
  all($_out >= 1): "the kernel {kernel_$} is larger than {$}"
tensors:
  - {name: x, role: input, shape: [n, $]}
  - {name: y, role: output, shape: [n, $_out]}
cost: [4*n*(product($) + outputs), max(kernel_$)]
reference: reference.cu
`

const plainOperator = `operator: scale
summary: Scales.
shape: [n, h, w]
example: 4x10x100
axes: [h, w]
parameters:
  kernel: {type: ints, default: 2, range: [1]}
derived:
  twice: ceil_div(n, 2)*2
  h_out: h - kernel_h + 1
  w_out: w - kernel_w + 1
requires:
  h_out >= 1 and w_out >= 1: "the kernel {kernel_h}x{kernel_w} is larger than {h}x{w}"
tensors:
  - {name: x, role: input, shape: [n, h, w]}
  - {name: y, role: output, shape: [n, h_out, w_out]}
cost: [4*n*(h*w + h_out*w_out), "max(kernel_h, kernel_w)"]
reference: reference.cu
templates:
  - name: direct
    source: direct.cu
    tunables: {threads: [32, 64]}
    constraints: [h > 1, w > 1, threads*2 <= 128]
    launch: {block: [threads, 1, 1], grid: ["ceil_div(n*h_out*w_out, threads*2)", 1, 1]}
    default: {threads: 32}
`

func loadFamily(op, fragment string) (*Operator, error) {
	files := operatorFiles(op)
	files["family.yaml"] = &fstest.MapFile{Data: []byte(fragment)}
	return Load(files, ".")
}

// An operator written with a shared file, axes and `let` is the same as one written without them.
func TestIncludeIsTheSameOperator(t *testing.T) {
	kernels := map[string]string{}
	for name, text := range map[string]string{"axes": axesOperator, "plain": plainOperator} {
		o, err := loadFamily(text, family)
		must.OK(t, err)
		p := bound(t, o, Request{Shape: []int64{5, 12, 30}, Parameters: map[string]string{"kernel": "3x5"}})
		k := kernelAt(t, p, o.Templates[0].Default)
		kernels[name] = k.Digest() + macrosText(k) + p.String() + k.Launches[0].String()
		if p.Bytes != 4*5*(12*30+10*26) || p.Flops != 5 {
			t.Errorf("%s: %d bytes, %d flops", name, p.Bytes, p.Flops)
		}
		_, err = o.Bind(Request{Shape: []int64{5, 2, 30}, Parameters: map[string]string{"kernel": "3x5"}}, TypicalLimits())
		if err == nil || !strings.Contains(err.Error(), "the kernel 3x5 is larger than 2x30") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if kernels["axes"] != kernels["plain"] {
		t.Errorf("\n%s\n%s", kernels["axes"], kernels["plain"])
	}
}

func TestTemplateIncludesAnother(t *testing.T) {
	o, err := loadFamily(axesOperator, family)
	must.OK(t, err)
	var texts []string
	for _, f := range o.Templates[1].Constraints {
		texts = append(texts, f.Text)
	}
	if want := []string{"h > 1", "w > 1", "threads * 2 <= 128", "threads * 2 == 64"}; !slices.Equal(texts, want) {
		t.Errorf("its constraints are %q, want %q", texts, want)
	}
	if again := o.Templates[1]; again.kernel != "scale_direct" || again.like != o.Templates[0] {
		t.Errorf("its kernel is %s", again.kernel)
	}
}

// An error in an included fragment names its place in the fragment, and the place of the include.
func TestIncludesThatCannotBe(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"$ - kernel_$ + 1", "$ - kernels_$ + 1", "family.yaml:9:14: `kernels_h` is not defined here (included at op.yaml:5:10); did you mean `kernel_h`?"},
		{"range: [1]}", "least: 1}", "family.yaml:7:36: unknown key `least`"},
		{"include: family.yaml", "include: families.yaml", "op.yaml:5:10: there is no file `families.yaml`"},
		{"include: direct", "include: again", "op.yaml:18:14: unknown earlier template `again`; there are direct"},
		{"rounded(n, 2)", "rounded(n)", "op.yaml:8:10: bad expression `rounded(n)`: `rounded` takes 2 arguments in brackets"},
		{"rounded(n, 2)", "rounded", "op.yaml:8:10: bad expression `rounded`: `rounded` takes 2 arguments in brackets"},
		{"both(x): rounded(x, 2)", "n: h", "family.yaml:5:3: `n` of `let` has the name of something else"},
		{"both(x): rounded(x, 2)", "2x: h", "family.yaml:5:3: `2x` is neither a name nor a function as `rounded(x, to)`"},
		{"twice: rounded", "outputs: rounded", "op.yaml:8:3: the derived value `outputs` has the name of a value of `let`"},
		{"outputs: product($_out)", "outputs: outputs + 1", "the values of `let` need each other"},
		{"axes: [h, w]\n", "", "`type: ints` needs the operator's `axes`"},
		{"max(kernel_$)]", "2 + kernel_$ + m]", "family.yaml:16:51: `m` is not defined here"},
	} {
		_, err := loadFamily(strings.Replace(axesOperator, test.old, test.new, 1), strings.Replace(family, test.old, test.new, 1))
		refused(t, test.new, err, test.want)
	}
}

// op.yaml files and fragments have no lines that are too long to read.
func TestTemplatesFitAPage(t *testing.T) {
	for _, pattern := range []string{"include/*.yaml", "*/op.yaml"} {
		files, err := fs.Glob(templates.FS, pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(templates.FS, file)
			must.OK(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				if len([]rune(line)) > 120 {
					t.Errorf("%s:%d has %d characters", file, i+1, len([]rune(line)))
				}
			}
		}
	}
}

// sharedOperator includes a template from a file that uses a name which the operator does not have.
const sharedOperator = `operator: scale
summary: Scales.
shape: [n, w]
example: 4x100
tensors:
  - {name: x, role: input, shape: [n, w]}
  - {name: y, role: output, shape: [n, w]}
cost: [8*n*w]
reference: reference.cu
templates:
  - include: rows.yaml
    with: {depth: 2*n, deeper: depth + 1}
  - name: again
    include: rows
    source: again.cu
    tunables: {threads: [32]}
    default: {threads: 32}
`

const sharedTemplates = `# Rows.
- name: rows
  source: rows.cu
  when: deeper < 100
  tunables: {threads: [32, 64]}
  derived:
    blocks: depth*w // 8
  launch:
    - {entry: _first, block: [threads, 1, 1], grid: [blocks, 1, 1]}
    - {block: [threads, 1, 1], grid: [deeper, 1, 1]}
  default: {threads: 32}
`

func loadShared(operator, templates string) (*Operator, error) {
	files := operatorFiles(operator)
	for name, text := range map[string]string{
		"rows.yaml": templates,
		"rows.cu":   "void scale_rows_first() {} void scale_rows() {}",
		"again.cu":  "void scale_rows_first() {} void scale_rows() {}",
	} {
		file := *files["direct.cu"]
		file.Data = []byte(text)
		files[name] = &file
	}
	return Load(files, ".")
}

// Templates from a shared file can use the operator's values and the values of `with`, which do not become macros.
func TestSharedTemplates(t *testing.T) {
	o, err := loadShared(sharedOperator, sharedTemplates)
	must.OK(t, err)
	p := bound(t, o, Request{Shape: []int64{4, 100}})
	for i, want := range []string{
		"scale_rows_first with grid 100x1x1, block 32x1x1; then scale_rows with grid 9x1x1, block 32x1x1",
		"scale_rows_first with grid 100x1x1, block 32x1x1; then scale_rows with grid 9x1x1, block 32x1x1",
	} {
		k := kernelAt(t, p, o.Templates[i].Default)
		var launches []string
		for _, l := range k.Launches {
			launches = append(launches, l.Entry+" with "+l.String())
		}
		if got := strings.Join(launches, "; then "); got != want {
			t.Errorf("%s launches %s, want %s", k.Template, got, want)
		}
		if got := macrosText(k); got != " BLOCKS=100 N=4 THREADS=32 W=100 " {
			t.Errorf("%s has the macros %s", k.Template, got)
		}
	}
	far := bound(t, o, Request{Shape: []int64{50, 100}})
	if _, err := far.Space(t.Context()); err == nil || !strings.Contains(err.Error(), "no template serves scale 50x100 on this device; there are rows (when deeper < 100), again (when deeper < 100)") {
		t.Errorf("of a problem that they do not serve: %v", err)
	}
}

// An error in a shared template is reported at its place in the right file, at loading or when a problem is bound.
func TestSharedTemplatesThatCannotBe(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"no such file", "include: rows.yaml", "include: row.yaml", "op.yaml:11:14: there is no file `row.yaml` of templates, in the operator's folder or shared"},
		{"no name of a list", "include: rows.yaml", "include: ../rows.yaml", "op.yaml:11:14: this must name a file with a list of templates"},
		{"a kernel", "include: rows.yaml", "include: rows.cu", "op.yaml:11:14: this must name a file with a list of templates"},
		{"another key", "    with:", "    name: rows\n    with:", "op.yaml:11:14: `rows.yaml` is a list, which a mapping cannot include"},
		{"a value of the operator's", "{depth: 2*n", "{depth: 2*n, w: 3", "op.yaml:12:24: the derived value `w` has the name of a dimension"},
		{"an unknown name", "depth: 2*n", "depth: 2*m", "op.yaml:12:21: `m` is not defined here"},
		{"a missing value", "{depth: 2*n, deeper: depth + 1}", "{deeper: 2*n}", "rows.yaml:7:13: `depth` is not defined here"},
		{"a name that is none there", "depth*w // 8", "depth*v // 8", "rows.yaml:7:19: `v` is not defined here"},
		{"no list", sharedTemplates, "name: rows\n", "rows.yaml:1:1: a file of templates must be a list; this is a mapping"},
		{"nothing", sharedTemplates, "# Rows.\n", "rows.yaml:1:1: the file is empty (included at op.yaml:11:14); it holds keys, or a list of templates"},
		{"a file in itself", "- name: rows\n", "- include: rows.yaml\n- name: rows\n", "rows.yaml:2:12: files include each other, or 9 deep (included at rows.yaml:2:12)"},
		{"a default that is no value", "default: {threads: 32}\n", "default: {threads: 16}\n", "rows.yaml:11:22: the default threads=16 is not among its values"},
		{"a value that cannot be", "depth*w // 8", "depth*w // (n - 4)", "rows.yaml:7:13: derived value blocks `depth*w // (n - 4)` for scale 4x100: "},
	} {
		_, err := loadShared(strings.Replace(sharedOperator, test.old, test.new, 1), strings.Replace(sharedTemplates, test.old, test.new, 1))
		refused(t, test.name, err, test.want)
	}
}

func FuzzSharedTemplates(f *testing.F) {
	f.Add(sharedTemplates)
	for _, text := range []string{"", "a", "- a", "- name: rows\n", "[{name: rows, source: rows.cu}]", "- include: rows.yaml\n", strings.Replace(sharedTemplates, "depth*w", "depth*v", 1)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := loadShared(sharedOperator, text)
		if (o == nil) == (err == nil) {
			t.Fatalf("got %v and %v", o, err)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("the message has several lines: %q", err)
		}
	})
}

// likeDirect is the operator goodOperator with a further template, which includes the template direct.
const likeDirect = goodOperator + `  - name: again
    include: direct
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

// A template that includes another one uses the same kernel with other tunables, and does not change the included one.
func TestTemplateLikeAnother(t *testing.T) {
	o, err := likeFiles(likeDirect)
	must.OK(t, err)
	p := bound(t, o, Request{Shape: []int64{4, 100}})
	again := kernelAt(t, p, o.Templates[1].Default)
	if again.File != "direct.cu" || again.Launches[0].Entry != "scale_direct" || again.Launches[0].Grid != [3]int64{4, 4, 1} || again.Launches[0].SharedBytes != 128 {
		t.Errorf("%s, %+v", again.File, again.Launches)
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
	if count != 3 { // four configurations, of which 64 x 1 is not valid
		t.Errorf("%d configurations", count)
	}

	alone, err := likeFiles(goodOperator)
	must.OK(t, err)
	q := bound(t, alone, Request{Shape: []int64{4, 100}})
	want, _ := q.Kernel(alone.Templates[0].Default)
	if got, err := p.Kernel(o.Templates[0].Default); err != nil || got.Digest() != want.Digest() {
		t.Errorf("direct is another kernel where there is one like it: %v", err)
	}
}

func TestBadLikes(t *testing.T) {
	for old, fault := range map[string][2]string{
		"include: direct":     {"include: again", "op.yaml:38:14: unknown earlier template `again`; there are direct"},
		"chunk: block_x*rows": {"more: block_x", "op.yaml:33:22: `vec` is not defined here"}, // vec is a tunable of the included template
		"rows: [1":            {"area: [1", "the tunable `area` has the name of a derived value"},
	} {
		_, err := likeFiles(strings.Replace(likeDirect, old, fault[0], 1))
		refused(t, fault[0], err, fault[1])
	}
}

const likeSteps = packingOperator + `  - name: again
    include: direct
    when: n <= 10 and n > 1
    tunables: {threads: [32]}
    derived: {blocks: "2*ceil_div(padded, threads)"}
    default: {threads: 32}
`

// A template shares the workspaces of the template that it includes; a shared workspace exists if one of the two
// templates serves the problem.
func TestWorkspacesOfBoth(t *testing.T) {
	o, err := loadSteps(t, likeSteps)
	must.OK(t, err)
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

// A file of many templates that include each other is refused quickly.
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
