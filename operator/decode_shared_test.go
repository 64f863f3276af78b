package operator

import (
	"strings"
	"testing"
)

// sharedOperator has a template from a file, which knows a name that the operator has not.
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

// Templates of a file know the operator's values and those of `with`, which are no macros.
func TestSharedTemplates(t *testing.T) {
	o, err := loadShared(sharedOperator, sharedTemplates)
	must(t, err)
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

// A fault is told where it stands, in the one file or the other, now or when a problem is known.
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
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", test.name, err, test.want)
		}
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
