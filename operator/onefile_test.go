package operator

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/operator/tree"
)

// An operator in one file is what it says in its first comment, and errors name the
// lines and columns of that file.
func TestLoadFile(t *testing.T) {
	text, err := os.ReadFile("../examples/saxpy.cu")
	must(t, err)
	stars := string(text)
	description, kernels, _ := strings.Cut(stars, "*/")
	slashes := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(description, "/*\n"), "\n"), "\n", "\n// ")
	slashes = "// " + slashes + "\n" + kernels
	for _, tt := range []struct{ name, text, fault string }{
		{"stars", stars, ""},
		{"slashes", slashes, ""},
		{"no comment", kernels, "saxpy.cu:1:1: the file begins with no comment that describes an operator; it starts with `/*` and `operator: NAME`"},
		{"an unknown name", strings.Replace(stars, "[12*n, 2*n]", "[12*n, 2*m]", 1), "saxpy.cu:11:16: `m` is not defined here"},
		{"an unknown name after slashes", strings.Replace(slashes, "[12*n, 2*n]", "[12*n, 2*m]", 1), "saxpy.cu:10:19: `m` is not defined here"},
		{"another entry", strings.Replace(stars, "entry: saxpy", "entry: axpy", 1), "saxpy.cu:13:5: `saxpy.cu` does not define `axpy`"},
		{"no reference", strings.Replace(stars, "saxpy_reference", "other", 1), "saxpy.cu:2:1: `saxpy.cu` does not define `saxpy_reference`"},
	} {
		o, err := LoadFile(fstest.MapFS{"saxpy.cu": {Data: []byte(tt.text)}}, ".", "saxpy.cu")
		if tt.fault != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.fault) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		p := bound(t, o, Request{Shape: []int64{1024}})
		reference := referenceOf(t, p)
		if reference.Launches[0].Entry != "saxpy_reference" || strings.Contains(macrosText(reference), "THREADS=") || strings.Contains(reference.Source, "void saxpy(") {
			t.Errorf("%s: the reference is %s with%s", tt.name, reference.Launches[0].Entry, macrosText(reference))
		}
		k, err := p.Kernel(o.Templates[0].Default)
		if err != nil || k.Launches[0].Entry != "saxpy" || strings.Contains(k.Source, "operator:") || strings.Contains(k.Source, "saxpy_reference") {
			t.Errorf("%s: the kernel is %s (%v)", tt.name, k.Launches[0].Entry, err)
		}
		if line := 1 + strings.Count(reference.Source[:strings.Index(reference.Source, "saxpy_reference")], "\n"); line != 1+strings.Count(tt.text[:strings.Index(tt.text, "saxpy_reference(")], "\n") {
			t.Errorf("%s: the reference moved to line %d", tt.name, line)
		}
	}
	var fault *tree.Error
	if _, err := LoadFile(fstest.MapFS{}, ".", "saxpy.cu"); !errors.As(err, &fault) || fault.File != "saxpy.cu" {
		t.Errorf("no file: %v", err)
	}
}

// A template that is added to a file leaves the kernels of those before as they were.
func TestOneFileGrows(t *testing.T) {
	const before = `// operator: twice
// summary: Doubles.
// shape: [n]
// example: 64
// tensors:
//   - {name: x, role: input, shape: [n]}
//   - {name: y, role: output, shape: [n]}
// cost: [8*n]
// templates:
//   - name: plain
//     tunables: {threads: [32, 64]}
//     launch: {block: [threads, 1, 1], grid: ["ceil_div(n, threads)", 1, 1]}
//     default: {threads: 32}
template <int N_> __device__ float doubled(float x) { return N_ * x; }
extern "C" __global__ void twice_reference(const float* x, float* y) {
    y[blockIdx.x * blockDim.x + threadIdx.x] = 2 * x[blockIdx.x * blockDim.x + threadIdx.x];
}
extern "C" __global__ void twice_plain(const float* x, float* y) { y[blockIdx.x * THREADS + threadIdx.x] = doubled<2>(x[0]); }
`
	digests := func(text string) (all []string) {
		o, err := LoadFile(fstest.MapFS{"twice.cu": {Data: []byte(text)}}, ".", "twice.cu")
		must(t, err)
		p := bound(t, o, Request{Shape: o.Example})
		reference, err := p.ReferenceDigest()
		must(t, err)
		all = append(all, reference)
		for _, template := range o.Templates {
			k := kernelAt(t, p, template.Default)
			all = append(all, k.Digest())
		}
		return all
	}
	const kernel = "// The second.\nextern \"C\" __global__ void twice_runs(const float* x, float* y) { for (int i = 0; i < VEC; i++) y[i] = 2 * x[i]; }\n"
	grown := strings.Replace(before, "//     default: {threads: 32}\n", `//     default: {threads: 32}
//   - name: runs
//     tunables: {vec: [1, 2]}
//     launch: {block: [32, 1, 1], grid: ["ceil_div(n, 32*vec)", 1, 1]}
//     default: {vec: 2}
`, 1) + kernel
	old, now := digests(before), digests(grown)
	if len(old) != 2 || len(now) != 3 || old[0] != now[0] || old[1] != now[1] {
		t.Errorf("%q became %q", old, now)
	}
	mistaken := digests(strings.Replace(grown, "2 * x[i]; }", "2 * xx[i]; }", 1))
	if mistaken[0] != now[0] || mistaken[1] != now[1] || mistaken[2] == now[2] {
		t.Errorf("an edit of the last: %q became %q", now, mistaken)
	}
	shared := digests(strings.Replace(grown, "return N_ * x", "return x * N_", 1))
	for i := range shared {
		if shared[i] == now[i] {
			t.Errorf("an edit of what all share leaves %s", now[i])
		}
	}
}

func macrosText(k Kernel) string {
	text := " "
	for _, m := range k.Macros {
		text += m.Name + "=" + m.Value + " "
	}
	return text
}

// A template's default may be what is right; it is launched as the template says.
func TestReferenceTemplate(t *testing.T) {
	text, err := os.ReadFile("../examples/saxpy.cu")
	must(t, err)
	load := func(reference string) (*Operator, error) {
		changed := strings.Replace(string(text), "cost:", reference+"\ncost:", 1)
		return LoadFile(fstest.MapFS{"saxpy.cu": {Data: []byte(changed)}}, ".", "saxpy.cu")
	}
	o, err := load("reference: strided")
	must(t, err)
	p := bound(t, o, Request{Shape: []int64{1024}})
	reference, err := p.Reference()
	if err != nil || reference.Launches[0].Entry != "saxpy" || reference.Launches[0].Block[0] != 256 || reference.Launches[0].Grid[0] != 4 {
		t.Errorf("the reference is %s with %+v (%v)", reference.Launches[0].Entry, reference.Launches, err)
	}
	if _, err := load("reference: stridden"); err == nil || !strings.Contains(err.Error(), "no template `stridden`; did you mean `strided`?") {
		t.Errorf("a template that is not there: %v", err)
	}
}
