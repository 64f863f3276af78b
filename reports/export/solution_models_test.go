package export

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// solutionModel describes the solutions that a benchmark accepts. A solutionModel maps the path of each field to a
// pattern for the field's JSON. A question mark ends the path of a field that may be absent, and [] stands for any
// element of a list.
type solutionModel map[string]string

// These regular expressions match a field's JSON: a text that must not be empty, any text, and a boolean.
const (
	someText = `"(?s:.+)"`
	anyText  = `"(?s:.*)"`
	aTruth   = `true|false`
)

// solutionModels describe the models in the benchmarks' sources: flashinfer_bench/data/solution.py at the commit
// 40e6ca7844b5, and src/sol_execbench/core/data/solution.py at 5b0f5904f390.
var solutionModels = map[string]solutionModel{
	"FlashInfer-Bench": {
		"name": someText, "definition": someText, "author": someText, "description?": anyText, "sources[].path": someText, "sources[].content": someText,
		"spec.language": `"(python|triton|cpp|cuda|tilelang)"`, "spec.target_hardware[]": anyText, "spec.entry_point": someText, "spec.dependencies[]?": someText,
		"spec.destination_passing_style?": aTruth, "spec.binding?": `"(tvm-ffi|torch)"`,
	},
	"SOL-ExecBench": {
		"name": someText, "definition": someText, "author": someText, "description?": anyText, "sources[].path": someText, "sources[].content": someText,
		"spec.languages[]": `"(cutlass|cudnn|cublas|cuda_cpp)"`, "spec.target_hardware[]": `"(B200|LOCAL)"`, "spec.entry_point": someText,
		"spec.dependencies[]?": someText, "spec.destination_passing_style?": aTruth, "spec.binding?": `"torch"`, "spec.compile_options.cflags[]?": anyText,
		"spec.compile_options.cuda_cflags[]?": anyText, "spec.compile_options.ld_flags[]?": anyText,
	},
}

// others lists the fields that only one of the two benchmarks, FlashInfer-Bench and SOL-ExecBench, reads.
var others = []string{"spec.language", "spec.languages[]", "spec.compile_options.cuda_cflags[]", "spec.compile_options.ld_flags[]"}

// takes returns why a benchmark would refuse a document. takes also refuses a field that neither benchmark reads.
func (m solutionModel) takes(document map[string]any) error {
	found := map[string][]string{}
	var walk func(at string, x any)
	walk = func(at string, x any) {
		switch x := x.(type) {
		case map[string]any:
			for name, inner := range x {
				walk(strings.TrimPrefix(at+"."+name, "."), inner)
			}
		case []any:
			for _, inner := range x {
				walk(at+"[]", inner)
			}
		default:
			text, _ := json.Marshal(x)
			found[at] = append(found[at], string(text))
		}
	}
	walk("", document)
	for field, form := range m {
		name, optional := strings.CutSuffix(field, "?")
		if len(found[name]) == 0 && !optional {
			return fmt.Errorf("%s is missing", name)
		}
		for _, text := range found[name] {
			if !regexp.MustCompile(`^(` + form + `)$`).MatchString(text) {
				return fmt.Errorf("%s is %.40s; want %s", name, text, form)
			}
		}
		delete(found, name)
	}
	for name := range found {
		if slices.Contains(others, name) {
			continue
		}
		return fmt.Errorf("there is no field %s", name)
	}
	spec, sources := document["spec"].(map[string]any), map[string]bool{}
	for _, s := range document["sources"].([]any) {
		name := s.(map[string]any)["path"].(string)
		if path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..") || sources[name] {
			return fmt.Errorf("the source %s leaves its folder, or is there twice", name)
		}
		sources[name] = true
	}
	entry := spec["entry_point"].(string)
	if file, _, _ := strings.Cut(entry, "::"); strings.Count(entry, "::") != 1 || !sources[file] || path.Ext(file) != ".cu" {
		return fmt.Errorf("the entry point %s is no function of a source in CUDA", entry)
	}
	return nil
}
