package operator

import (
	"strings"
	"testing"
	"testing/fstest"
)

const variants = "math: [fp32, tf32, tf32_other]\nauto: [\"'fp32'\", ask.py]"

// mathFiles returns the files of goodOperator with another `math` key.
func mathFiles(math string) fstest.MapFS {
	files := operatorFiles(strings.Replace(goodOperator, "math: [fp32, tf32]\nauto: \"'tf32' if arch >= 80 else 'fp32'\"", math, 1))
	files["ask.py"] = &fstest.MapFile{Data: []byte("FACTORS = ()\ndef ask(o, t, p):\n    pass\ndef part(o, t, p):\n    pass\n")}
	return files
}

// In a math variant, the macros of the variant and of its base mode are both 1.
func TestMathVariant(t *testing.T) {
	o := loaded(t, mathFiles(variants))
	for mode, want := range map[string]string{"fp32": "00", "tf32": "10", "tf32_other": "11"} {
		p := bound(t, o, Request{Shape: []int64{4, 100}, Math: mode})
		got := ""
		for _, m := range p.MathMacros() {
			got += m.Value
		}
		if got != want || p.MathMacros()[1].Name != "MATH_TF32_OTHER" {
			t.Errorf("%s: %v", mode, p.MathMacros())
		}
	}
}

func TestMathFaults(t *testing.T) {
	for old, fault := range map[string][2]string{
		"ask.py":    {"own.cuh", "`own.cuh` does not define `def ask`"},
		", ask.py]": {", ask.py, ask.py]", "auto is an expression, or a list of one and of a Python file"},
	} {
		_, err := Load(mathFiles(strings.Replace(variants, old, fault[0], 1)), ".")
		if err == nil || !strings.Contains(err.Error(), fault[1]) || !strings.HasPrefix(err.Error(), "op.yaml:") {
			t.Errorf("%s for %s: %v; want %q", fault[0], old, err, fault[1])
		}
	}
}
