package operator

import (
	"strings"
	"testing"
	"testing/fstest"
)

const variants = "math: [fp32, tf32, tf32_other]\nauto: [\"'fp32'\", ask.py]"

// mathFiles are a good operator's with another key `math`.
func mathFiles(math string) fstest.MapFS {
	files := operatorFiles(strings.Replace(goodOperator, "math: [fp32, tf32]\nauto: \"'tf32' if arch >= 80 else 'fp32'\"", math, 1))
	files["other.cuh"] = &fstest.MapFile{Data: []byte("#include \"more.cuh\"\n// other\n")}
	files["more.cuh"] = &fstest.MapFile{Data: []byte("// more\n")}
	files["tf32.cuh"], files["tf32_other.cuh"] = files["deeper.cuh"], files["other.cuh"]
	files["ask.py"] = &fstest.MapFile{Data: []byte("FACTORS = ()\ndef ask(o, t, p):\n    pass\ndef part(o, t, p):\n    pass\n")}
	return files
}

// A variant's kernels are those of its mode, but for the header: those of the modes stay what they are without it.
func TestMathVariant(t *testing.T) {
	kernel := func(math, mode string) Kernel {
		files := mathFiles(math)
		files["own.cuh"] = &fstest.MapFile{Data: []byte("#include \"tf32.cuh\"\n")}
		o := loaded(t, files)
		p := bound(t, o, Request{Shape: []int64{4, 100}, Math: mode})
		return kernelAt(t, p, p.Defaults(t.Context())[0])
	}
	const plain = "math: [fp32, tf32]\nauto: \"'fp32'\""
	for _, mode := range []string{"fp32", "tf32"} {
		if kernel(plain, mode).Digest() != kernel(variants, mode).Digest() {
			t.Errorf("the kernel of %s is another where there is a variant", mode)
		}
	}
	tf32, other := kernel(variants, "tf32"), kernel(variants, "tf32_other")
	if macros := len(tf32.Macros); len(other.Macros) != macros {
		t.Errorf("%d and %d macros", macros, len(other.Macros))
	}
	for i, m := range tf32.Macros {
		if other.Macros[i] != m {
			t.Errorf("%v and %v", m, other.Macros[i])
		}
	}
	if !strings.Contains(other.Includes["tf32.cuh"], "// other") || other.Includes["more.cuh"] == "" || len(tf32.Includes) != 2 {
		t.Errorf("%v and %v", tf32.Includes, other.Includes)
	}
}

func TestMathFaults(t *testing.T) {
	for old, fault := range map[string][2]string{
		"tf32_other": {"tf32_others", "the file `tf32_others.cuh` is neither in the operator's folder nor a shared one"},
		"ask.py":     {"own.cuh", "`own.cuh` does not define `def ask`"},
		", ask.py]":  {", ask.py, ask.py]", "auto is an expression, or a list of one and of a Python file"},
	} {
		_, err := Load(mathFiles(strings.Replace(variants, old, fault[0], 1)), ".")
		if err == nil || !strings.Contains(err.Error(), fault[1]) || !strings.HasPrefix(err.Error(), "op.yaml:") {
			t.Errorf("%s for %s: %v; want %q", fault[0], old, err, fault[1])
		}
	}
}
