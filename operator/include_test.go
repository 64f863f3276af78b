package operator

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/templates"
)

// axesOperator says for all axes at once what plainOperator says for each, in a file that both
// could share.
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
  kernel: {axes: true, default: 2, min: 1}
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
  kernel: {axes: true, default: 2, min: 1}
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

// A family's file, axes and values of `let` are another way to write the same operator.
func TestIncludeIsTheSameOperator(t *testing.T) {
	kernels := map[string]string{}
	for name, text := range map[string]string{"axes": axesOperator, "plain": plainOperator} {
		o, err := loadFamily(text, family)
		must(t, err)
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
	must(t, err)
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

// A fault in a fragment names its place there, and where the fragment is included.
func TestIncludesThatCannotBe(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"$ - kernel_$ + 1", "$ - kernels_$ + 1", "family.yaml:9:14: `kernels_h` is not defined here (included at op.yaml:5:10); did you mean `kernel_h`?"},
		{"min: 1}", "least: 1}", "family.yaml:7:36: unknown key `least`"},
		{"include: family.yaml", "include: families.yaml", "op.yaml:5:10: there is no file `families.yaml`"},
		{"include: direct", "include: again", "op.yaml:18:14: unknown earlier template `again`; there are direct"},
		{"rounded(n, 2)", "rounded(n)", "op.yaml:8:10: bad expression `rounded(n)`: `rounded` takes 2 arguments in brackets"},
		{"rounded(n, 2)", "rounded", "op.yaml:8:10: bad expression `rounded`: `rounded` takes 2 arguments in brackets"},
		{"both(x): rounded(x, 2)", "n: h", "family.yaml:5:3: `n` of `let` has the name of something else"},
		{"both(x): rounded(x, 2)", "2x: h", "family.yaml:5:3: `2x` is neither a name nor a function as `rounded(x, to)`"},
		{"twice: rounded", "outputs: rounded", "op.yaml:8:3: the derived value `outputs` has the name of a value of `let`"},
		{"outputs: product($_out)", "outputs: outputs + 1", "the values of `let` need each other"},
		{"axes: [h, w]\n", "", "`axes: true` needs the operator's `axes`"},
		{"max(kernel_$)]", "2 + kernel_$ + m]", "family.yaml:16:51: `m` is not defined here"},
	} {
		_, err := loadFamily(strings.Replace(axesOperator, test.old, test.new, 1), strings.Replace(family, test.old, test.new, 1))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", test.new, err, test.want)
		}
	}
}

// op.yaml files and fragments keep to a width that can be read.
func TestTemplatesFitAPage(t *testing.T) {
	for _, pattern := range []string{"include/*.yaml", "*/op.yaml"} {
		files, err := fs.Glob(templates.FS, pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(templates.FS, file)
			must(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				if len([]rune(line)) > 120 {
					t.Errorf("%s:%d has %d characters", file, i+1, len([]rune(line)))
				}
			}
		}
	}
}
