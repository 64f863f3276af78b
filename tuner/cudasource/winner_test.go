package cudasource

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/emulator"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/bestconfig"
	"autotune/tuner/torchtimes"
)

// best returns the document of a winner for a small conv2d problem.
func best(t *testing.T) (bestconfig.Document, *operator.Operator) {
	t.Helper()
	o, err := operator.Find("conv2d")
	must.OK(t, err)
	p, err := o.Bind(operator.Request{Shape: []int64{1, 4, 20, 20}, Math: "fp32"}, emulator.Limits())
	must.OK(t, err)
	c := p.Defaults(t.Context())[0]
	k, err := p.Kernel(c)
	must.OK(t, err)
	reference, err := p.ReferenceDigest()
	must.OK(t, err)
	b := bestconfig.Document{
		Operator: o.Name, Configuration: c, Launches: k.Launches, Macros: map[string]string{},
		Problem: operator.ProblemRecord{Shape: p.Shape, Math: "fp32", MathBy: "as\nPyTorch does"}, KernelDigest: k.Digest(), ReferenceDigest: reference,
		Device: device.Info{Name: "NVIDIA H100\n#error", Kind: device.CUDA}, Time: trial.Timing{Median: 2}, RecordedAt: time.Unix(1e9, 0),
	}
	b.Compare(torchtimes.Eager, 5)
	for _, m := range k.Macros {
		b.Macros[m.Name] = m.Value
	}
	var text bytes.Buffer
	must.OK(t, b.WriteJSON(&text))
	read, err := bestconfig.Read(&text)
	must.OK(t, err)
	return read, o
}

func TestWriteCUDA(t *testing.T) {
	b, o := best(t)
	b.Macros["TILES_X"], b.Launches[0].Grid = "7", [3]int64{5, 6, 7} // different from the computed values
	b.KernelDigest = ""
	b.Launches[0].Block, b.Launches[0].SharedBytes = [3]int64{64, 4, 1}, 49_152 // more than 48 KB with the kernel's own
	w, err := Of(b, o, emulator.Limits(), "autotune test")
	must.OK(t, err)
	var out bytes.Buffer
	must.OK(t, w.WriteCUDA(&out))
	text := out.String()
	for _, want := range []string{
		"// conv2d 1x4x20x20 c_out=128 kernel=3x3",
		"// Tuned on NVIDIA H100 #error: 2 ms a launch, 2.5 times as fast as PyTorch.\n",
		"// Math mode fp32, as PyTorch does.\n",
		"// Launch conv2d_direct with grid 5x6x7, block 64x4x1, 49152 bytes of dynamic shared memory.",
		"//     bias (weight): f32, a null pointer\n",
		"cudaFuncSetAttribute(conv2d_direct, cudaFuncAttributeMaxDynamicSharedMemorySize, 49152);", "void* arguments[] = {&x, &weight, &bias, &y, nullptr};",
		"cudaLaunchKernel((const void*)conv2d_direct, dim3(5, 6, 7), dim3(64, 4, 1), arguments, 49152, stream);",
		"#define TILES_X 7\n", "#define KERNEL_H 3\n", "extern \"C\" __global__",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, no := range []string{"#include \"", "#pragma once"} {
		if strings.Contains(text, no) {
			t.Errorf("there is %s", no)
		}
	}
	if strings.Count(text, "round_to_tf32(float x)") != 1 {
		t.Error("an included file is there more than once, or not at all")
	}
}

// setValue changes the value of one of the winner's tunables.
func setValue(b *bestconfig.Document, name string, v expr.Value) {
	for i := range b.Values {
		if b.Values[i].Name == name {
			b.Values[i].Value = v
		}
	}
}

func TestOfRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*bestconfig.Document)
		want   string
	}{
		"another operator": {func(b *bestconfig.Document) { b.Operator = "max_pool2d" }, "the best configuration is of max_pool2d, not of conv2d"},
		"a template gone":  {func(b *bestconfig.Document) { b.Template = "gone" }, "conv2d has no template gone any more; search again"},
		"a tunable gone": {func(b *bestconfig.Document) {
			b.Values = slices.DeleteFunc(b.Values, func(v space.Value) bool { return v.Name == "vec" })
		}, "has no vec, which template direct needs by now; search again"},
		"a value gone": {func(b *bestconfig.Document) { setValue(b, "vec", expr.Int(3)) }, "vec=3 is not among the values of template direct any more"},
		"a macro gone": {func(b *bestconfig.Document) { delete(b.Macros, "VEC") }, "template direct has changed since the search"},
		"macros that differ": {func(b *bestconfig.Document) {
			delete(b.Macros, "VEC")
			b.Macros["OLD"], b.Macros["OLDER"] = "1", "2"
		}, "among its macros it has VEC now, and it has no OLD OLDER any more; search again"},
		"an edited kernel": {func(b *bestconfig.Document) { b.KernelDigest = b.KernelDigest[1:] + "0" },
			"template direct has changed since the search: direct.cu or a file that it includes; search again"},
		"an edited kernel of a recording": {func(b *bestconfig.Document) { b.KernelDigest, b.Macros = "0123456789abcdef", nil },
			"template direct has changed since the search"},
		"an edited reference": {func(b *bestconfig.Document) { b.ReferenceDigest = b.KernelDigest },
			"the reference has changed since the search, which compared template direct with it: convolution_reference.cu or a file that it includes; search again"},
		"a macro that is not": {func(b *bestconfig.Document) { b.Macros["VEC"] = "1\n#error" }, "macro VEC of the best configuration is"},
		"a bad shape":         {func(b *bestconfig.Document) { b.Problem.Shape = []int64{1, 2} }, "4 dimensions"},
	} {
		t.Run(name, func(t *testing.T) {
			b, o := best(t)
			test.change(&b)
			_, err := Of(b, o, emulator.Limits(), "autotune test")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestInline(t *testing.T) {
	includes := map[string]string{
		"a.cuh": "#pragma once\n#include \"b.cuh\"\nint a;\n",
		"b.cuh": "#pragma once\n#ifdef X\nint b;\n#endif\n",
	}
	for name, test := range map[string]struct{ source, want, fault string }{
		"nothing":   {source: "int x;", want: "int x;\n"},
		"each once": {source: "#include \"a.cuh\"\n# include \"b.cuh\"\n#include \"a.cuh\"\nint x;\n", want: "#ifdef X\nint b;\n#endif\n\nint a;\n\nint x;\n"},
		"missing":   {source: "#include \"c.cuh\"\n", fault: "x.cu includes c.cuh, which is not among its files"},
		"decided": {source: "#if A\n#include \"a.cuh\"\n#else\n#include \"c.cuh\"\n#endif\n#if !A || Z\n#endif\n",
			want: "#if A\n\n#ifdef X\nint b;\n#endif\n\nint a;\n\n#else\n#endif\n#if !A || Z\n#endif\n"},
		"decided for the other": {source: "#if Z\n#include \"a.cuh\"\n#else\n#include \"b.cuh\"\n#endif\n",
			want: "#if Z\n#else\n\n#ifdef X\nint b;\n#endif\n\n#endif\n"},
		"sometimes": {source: "#if X\n#include \"a.cuh\"\n#endif\n", fault: "x.cu includes a.cuh under a condition"},
		"again":     {source: "#include \"a.cuh\"\n#if X\n#include \"a.cuh\"\n#endif\n", want: "#ifdef X\nint b;\n#endif\n\nint a;\n\n#if X\n#endif\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Inline("x.cu", test.source, includes, []operator.Macro{{Name: "A", Value: "1"}, {Name: "Z", Value: "0"}})
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("got %v, want %s", err, test.fault)
				}
			} else if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestUndefines(t *testing.T) {
	text := "#ifndef NAN\n#define NAN 1\n#endif\n#define ROWS 2\n  # define TWICE(x) (2*(x))\n#ifndef N\n#define N 1\n#endif\n"
	want := "#undef N\n#undef ROWS\n#undef TWICE\n"
	if got := Undefines([]operator.Macro{{Name: "N", Value: "3"}}, text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Numbers in JSON have no types, so a configuration that was read from JSON gets its types from the template.
func TestConfigurationKeepsTypes(t *testing.T) {
	b, o := best(t)
	text, err := json.Marshal(b.Configuration)
	must.OK(t, err)
	c, err := configuration(b, o)
	must.OK(t, err)
	back, err := json.Marshal(c)
	if err != nil || string(back) != string(text) {
		t.Errorf("got %s, %v, want %s", back, err, text)
	}
}
