package operator

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
	"autotune/templates"
)

// scale loads goodOperator with texts replaced, and binds it to its example.
func scale(t *testing.T, replacements ...string) *Problem {
	t.Helper()
	o := loaded(t, operatorFiles(strings.NewReplacer(replacements...).Replace(goodOperator)))
	return bound(t, o, Request{Shape: o.Example})
}

func TestKernel(t *testing.T) {
	p := scale(t)
	defaults := p.Defaults(t.Context())
	if len(defaults) != 1 || defaults[0].String() != "direct block_x=64 vec=1 wide=false" {
		t.Fatalf("defaults are %v", defaults)
	}
	k := kernelAt(t, p, defaults[0])
	var macros []string
	for _, m := range k.Macros {
		macros = append(macros, m.Name+"="+m.Value)
	}
	want := "AREA=15 BLOCK_X=64 CHUNK=64 KERNEL_H=3 KERNEL_W=5 MATH_TF32=1 N=4 STRIDE_H=3 STRIDE_W=5 TILES=2 TIMES=100 TOTAL=1500 TWICE=1 VEC=1 W=100 WIDE=0"
	if got := strings.Join(macros, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if want := (Launches{{Entry: "scale_direct", Grid: [3]int64{2, 4, 1}, Block: [3]int64{64, 1, 1}, SharedBytes: 256}}); !reflect.DeepEqual(k.Launches, want) {
		t.Errorf("launches are %+v", k.Launches)
	}
	if k.File != "direct.cu" || len(k.Includes) != 2 {
		t.Errorf("kernel is in %s with %d includes", k.File, len(k.Includes))
	}
}

func TestReference(t *testing.T) {
	p := scale(t)
	k := referenceOf(t, p)
	if want := (Launches{{Entry: "scale_reference", Grid: [3]int64{2, 1, 1}, Block: [3]int64{256, 1, 1}}}); !reflect.DeepEqual(k.Launches, want) {
		t.Errorf("reference is launched as %+v", k.Launches)
	}
	if slices.ContainsFunc(k.Macros, func(m Macro) bool { return m.Name == "BLOCK_X" }) {
		t.Error("the reference has a tunable's macro")
	}
}

func TestKernelRefusesWrongConfigurations(t *testing.T) {
	p := scale(t)
	for _, c := range []space.Configuration{
		{Template: "other"},
		{Template: "direct", Values: space.Values{{Name: "block_x", Value: expr.Int(64)}}},
		{Template: "direct", Values: space.Values{{Name: "block_x", Value: expr.Int(63)}, {Name: "vec", Value: expr.Int(1)}, {Name: "wide", Value: expr.Bool(false)}}},
	} {
		if k, err := p.Kernel(c); err == nil {
			t.Errorf("%v gives a kernel with %v", c, k.Macros)
		}
	}
}

func TestDigest(t *testing.T) {
	k := referenceOf(t, scale(t))
	digests := map[string]string{k.Digest(): "unchanged"}
	for name, change := range map[string]func(*Kernel){
		"source":        func(k *Kernel) { k.Source += ";" },
		"entry":         func(k *Kernel) { k.Launches = append(slices.Clone(k.Launches), Launch{Entry: "x"}) },
		"second launch": func(k *Kernel) { k.Launches = append(slices.Clone(k.Launches), k.Launches[0]) },
		"dependent launch": func(k *Kernel) {
			k.Launches = append(slices.Clone(k.Launches), k.Launches[0])
			k.Launches[1].Dependent = true
		},
		"macro":   func(k *Kernel) { k.Macros = append(slices.Clone(k.Macros), Macro{"Z", "1"}) },
		"value":   func(k *Kernel) { k.Macros = slices.Clone(k.Macros); k.Macros[0].Value += "0" },
		"flag":    func(k *Kernel) { k.Flags = []string{"--use_fast_math"} },
		"include": func(k *Kernel) { k.Includes = map[string]string{"own.cuh": "changed"} },
	} {
		changed := k
		change(&changed)
		if other, twice := digests[changed.Digest()]; twice {
			t.Errorf("a kernel with another %s has the digest of the %s one", name, other)
		}
		digests[changed.Digest()] = name
	}
	commented := k
	commented.Source = "// A comment.\n\n" + k.Source
	commented.Includes = map[string]string{}
	for name, text := range k.Includes {
		commented.Includes[name] = text + " /* another */\n"
	}
	if commented.Digest() != k.Digest() {
		t.Error("a kernel with more comments has another digest")
	}
	moved := k
	moved.Launches = slices.Clone(k.Launches)
	moved.Launches[0].Grid[0]++
	if moved.Digest() == k.Digest() {
		t.Error("a kernel with another grid has the same digest")
	}
	if moved.Digest()[:CodeDigits] != k.Digest()[:CodeDigits] {
		t.Error("the launch is no part of what a compiler sees, and is in the digest's first digits")
	}
}

func TestLaunchLimitsAreConstraints(t *testing.T) {
	for _, test := range []struct {
		name, old, new string
		want           int64
	}{
		{"all", "constraints: [chunk <= 256]", "constraints: [chunk <= 256]", 16},
		{"a tunable called x", "block_x", "x", 16},
		{"a tunable called v", "block_x", "v", 16},
		{"z of a block", "block: [block_x, 1, 1]", "block: [1, 1, block_x]", 12},
		{"threads", "block: [block_x, 1, 1]", "block: [block_x, 16, 1]", 12},
		{"shared memory", "shared: 4*block_x", "shared: 2000*block_x", 12},
		{"no shared memory below 0", "shared: 4*block_x", "shared: block_x - 64", 10},
		{"y of a grid", "grid: [tiles, n, 1]", "grid: [tiles, 65534 + vec, 1]", 6},
		{"no empty grid", "grid: [tiles, n, 1]", "grid: [tiles, 100 // chunk, 1]", 6},
	} {
		s, err := scale(t, test.old, test.new).Space(t.Context())
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if s.Len() != test.want {
			t.Errorf("%s: %d configurations, want %d", test.name, s.Len(), test.want)
		}
	}
}

func TestNoTemplateServes(t *testing.T) {
	o := loaded(t, operatorFiles(strings.Replace(goodOperator, "when: n*w >= 1", "when: arch >= 100", 1)))
	p := bound(t, o, Request{Shape: o.Example})
	want := "scale: no template serves " + p.String() + " on this device; there are direct (when arch >= 100)"
	if _, err := p.Space(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if d := p.Defaults(t.Context()); len(d) != 0 {
		t.Errorf("it has the defaults %v", d)
	}
}

func TestDefaultsAreRepaired(t *testing.T) {
	o := loaded(t, operatorFiles(strings.Replace(goodOperator, "chunk <= 256", "vec <= w", 1)))
	limits := TypicalLimits()
	limits.MaxThreadsPerBlock = 32
	p, err := o.Bind(Request{Shape: o.Example}, limits)
	must.OK(t, err)
	if got := fmt.Sprint(p.Defaults(t.Context())); got != "[direct block_x=32 vec=1 wide=false]" {
		t.Errorf("the default became %s", got)
	}
}

// For any problem that it serves, a built-in template must have a valid configuration, and its default comes first.
func TestBuiltinSpaces(t *testing.T) {
	for _, test := range []struct{ operator, shape, parameters string }{
		{"avg_pool1d", "1x1x1", "kernel=1"}, {"avg_pool1d", "64x128x65536", ""}, {"avg_pool1d", "1x1x5000000000", ""},
		{"avg_pool2d", "1x1x1x1", "kernel=1"}, {"avg_pool2d", "16x64x2048x2048", ""}, {"avg_pool2d", "70000x1x1x1", "kernel=1"},
		{"max_pool2d", "1x1x1x1", "kernel=1 padding=0"}, {"max_pool2d", "32x64x512x512", ""}, {"max_pool2d", "1x1x3x100000", "kernel=1x1000 padding=0"},
		{"max_pool1d", "1x1x1", "kernel=1"}, {"max_pool1d", "64x192x65536", ""}, {"max_pool1d", "1x1x5000000000", "kernel=1000000"},
		{"max_pool3d", "1x1x1x1x1", "kernel=1"}, {"max_pool3d", "16x32x128x128x128", ""}, {"max_pool3d", "1x1x40x40x9000", "kernel=40x20x1000"},
		{"avg_pool3d", "1x1x1x1x1", "kernel=1"}, {"avg_pool3d", "16x32x128x128x256", ""}, {"avg_pool3d", "70000x1x1x1x7", "kernel=1x1x7"},
		{"conv2d", "1x1x1x1", "c_out=1 kernel=1"}, {"conv2d", "16x16x1024x1024", ""}, {"conv2d", "1x2048x32x32", "c_out=2048 kernel=32"},
		{"depthwise_conv2d", "1x1x1x1", "kernel=1"}, {"depthwise_conv2d", "16x64x512x512", ""},
	} {
		p, err := bind(t, test.operator, test.shape, test.parameters, "")
		if err != nil {
			t.Error(err)
			continue
		}
		s, err := p.Space(t.Context())
		if err != nil {
			t.Error(err)
			continue
		}
		defaults := p.Defaults(t.Context())
		t.Logf("%s: %d configurations, first default %s", p, s.Len(), defaults[0])
		for _, c := range defaults {
			if _, ok := s.Index(c); !ok {
				t.Errorf("%s: the default %s is not in the space", p, c)
			}
			if _, err := p.Kernel(c); err != nil {
				t.Error(err)
			}
		}
		if defaults[0].Template != "direct" {
			t.Errorf("%s: the untuned baseline is %s, not direct", p, defaults[0])
		}
	}
}

// An editor can check every built-in CUDA file with the macros of the kernel that EditorKernels returns for the file.
func TestEditorKernels(t *testing.T) {
	oneAtATime(t)
	read := map[string]bool{}
	for _, name := range OperatorNames() {
		o := find(t, name)
		kernels, err := o.EditorKernels()
		must.OK(t, err)
		p := bound(t, o, Request{Shape: o.Example})
		for _, k := range kernels {
			if read[path.Join(name, k.File)] {
				t.Errorf("%s: %s comes twice", name, k.File)
			}
			read[path.Join(name, k.File)], read[path.Join("include", k.File)] = true, true
		}
		for _, c := range p.Defaults(t.Context()) {
			want := kernelAt(t, p, c)
			first := slices.IndexFunc(o.Templates, func(t *Template) bool { return t.Source.File == want.File })
			if o.Templates[first].Name != c.Template {
				continue
			}
			at := slices.IndexFunc(kernels, func(k Kernel) bool { return k.File == want.File })
			if at < 0 || !slices.Equal(kernels[at].Macros, want.Macros) {
				t.Errorf("%s: an editor does not read %s with the macros of %s", name, want.File, c)
			}
		}
	}
	files, err := fs.Glob(templates.FS, "*/*.cu")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if !read[file] {
			t.Errorf("no editor can read %s: no operator has it", file)
		}
	}
}

// Without an example in op.yaml, the error says what an editor needs.
func TestEditorNeedsExample(t *testing.T) {
	o := find(t, "conv2d")
	o.Example = nil
	if _, err := o.EditorKernels(); err == nil {
		t.Error("there are kernels for no problem")
	}
}

func TestProblemRecordJSON(t *testing.T) {
	p := scale(t)
	r := p.Record()
	text, err := json.Marshal(r)
	must.OK(t, err)
	var back ProblemRecord
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("%s came back as %+v, %v", text, back, err)
	}
	again, err := p.Operator.Bind(back.Request(), p.Limits)
	if err != nil || again.String() != p.String() {
		t.Errorf("bound again to %v, %v, want %v", again, err, p)
	}
}

func TestParametersJSON(t *testing.T) {
	want := Parameters{{"stride", "1x1"}, {"kernel", "3x3"}}
	const text = `{"stride":"1x1","kernel":"3x3"}`
	var got Parameters
	if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, %v", text, got, err)
	}
	if written, err := json.Marshal(want); err != nil || string(written) != text {
		t.Errorf("written as %s, %v", written, err)
	}
	if err := json.Unmarshal([]byte(`[{"name":"stride","value":"1x1"}]`), &got); err == nil {
		t.Errorf("a list is read as %+v", got)
	}
	if err := json.Unmarshal([]byte(`{"stride":1}`), &got); err == nil || !strings.Contains(err.Error(), "parameters.stride: a value is a string, not 1") {
		t.Errorf("a number: %v", err)
	}
}
