package operator

import (
	"strings"
	"testing"
	"testing/fstest"
)

// moduleFiles is goodOperator with a PyTorch module.
func moduleFiles() fstest.MapFS {
	files := operatorFiles(strings.Replace(goodOperator, "templates:\n", "pytorch: {module: module.py, gradients: gradients.py, general: general.cuh, arguments: {input: {is: x}, weight: {}}}\ntemplates:\n", 1))
	files["module.py"] = &fstest.MapFile{Data: []byte("class ModelNew(nn.Module):\n    x = 1\ndef get_inputs():\n    x\ndef get_init_inputs():\n    x\n")}
	files["gradients.py"] = &fstest.MapFile{Data: []byte("def gradients(s):\n    x\n")}
	files["general.cuh"] = &fstest.MapFile{Data: []byte("#include \"own.cuh\"\n__device__ float scale_general(const float* x) { return 1; }\n")}
	return files
}

func TestLoadPyTorch(t *testing.T) {
	o := loaded(t, moduleFiles())
	if o.PyTorch == nil || !strings.HasPrefix(o.PyTorch.Module.Text, "class ModelNew") || len(o.PyTorch.General.Includes) != 2 {
		t.Errorf("got %+v", o.PyTorch)
	}
	without, err := Load(operatorFiles(goodOperator), ".")
	if err != nil || without.PyTorch != nil {
		t.Errorf("the key is optional; got %+v, %v", without, err)
	}
}

func TestLoadPyTorchFindsFaults(t *testing.T) {
	replace := func(file, old, new string) func(fstest.MapFS) {
		return func(files fstest.MapFS) {
			files[file] = &fstest.MapFile{Data: []byte(strings.Replace(string(files[file].Data), old, new, 1))}
		}
	}
	for _, test := range []struct {
		name   string
		change func(fstest.MapFS)
		want   string
	}{
		{"unknown key", replace("op.yaml", "general: gen", "generel: gen"), "op.yaml:25:55: unknown key `generel`; did you mean `general`?"},
		{"missing key", func(files fstest.MapFS) {
			replace("op.yaml", ", general: general.cuh", "")(files)
			delete(files, "general.cuh")
		}, "op.yaml:25:10: pytorch lacks the key `general`"},
		{"not a mapping", replace("op.yaml", "{module: module.py, gradients: gradients.py, general: general.cuh, arguments: {input: {is: x}, weight: {}}}", "module.py"), "op.yaml:25:10: pytorch must be a mapping"},
		{"no such module", replace("op.yaml", "module.py", "modul.py"), "op.yaml:25:19: there is no source file `modul.py`; did you mean `module.py`?"},
		{"no such general kernel", replace("op.yaml", "general.cuh", "genera.cuh"), "op.yaml:25:64: there is no source file `genera.cuh`; did you mean `general.cuh`?"},
		{"outside the folder", replace("op.yaml", "module.py", "../module.py"), "op.yaml:25:19: this must name a file in the operator's folder"},
		{"module without a class", replace("module.py", "ModelNew", "Model"), "op.yaml:25:19: `module.py` does not define `class ModelNew`"},
		{"module without gradients", replace("gradients.py", "def gradients", "def gradient"), "op.yaml:25:41: `gradients.py` does not define `def gradients`"},
		{"another function", replace("general.cuh", "scale_general", "general"), "op.yaml:25:64: `general.cuh` does not define `scale_general`"},
		{"a list of arguments", replace("op.yaml", "{input: {is: x}, weight: {}}}", "[x]}"), "op.yaml:25:88: arguments must be a mapping of PyTorch's names; this is a list"},
		{"an unknown fold", replace("op.yaml", "is: x", "is: x, fold: flatt"), "unknown fold `flatt`; did you mean `flat`?"},
		{"an argument of nothing", replace("op.yaml", "is: x", "is: z"), "the operator has no tensor, parameter or dimension `z`"},
		{"a default of nothing", replace("op.yaml", "weight: {}", "weight: {}, size: sizes"), "the operator has no tensor, parameter or dimension `sizes`"},
		{"an argument twice", replace("op.yaml", "weight: {}", "weight: {}, x: {}"), "`x` is given twice"},
		{"along nothing", replace("op.yaml", "is: x", "is: x, fold: along, by: dim"), "`input` is folded by `dim`, which is no argument of the function"},
		{"along what is not said", replace("op.yaml", "is: x", "is: x, fold: along"), "`input` is folded along an argument of the function; `by` must name it"},
		{"rows by something", replace("op.yaml", "is: x", "is: x, fold: rows, by: n"), "`by` has no place here"},
		{"a word of nothing", replace("op.yaml", "weight: {}", "weight: {}, reduction: {default: sum, words: {sum: {total: true}}}"), "the operator has no tensor, parameter or dimension `total`"},
		{"no word", replace("op.yaml", "weight: {}", "weight: {}, reduction: {default: mean, words: {sum: {n: 1}}}"), "unknown word `mean`"},
		{"no argument for a tensor", replace("op.yaml", "{input: {is: x}, weight: {}}}", "{size: 1}}"), "no argument is the tensor `x`"},
		{"missing include", func(files fstest.MapFS) { replace("general.cuh", "own", "none")(files) }, "general.cuh:1:11: cannot include `none.cuh`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := moduleFiles()
			test.change(files)
			_, err := Load(files, ".")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}
