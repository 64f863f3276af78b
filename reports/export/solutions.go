package export

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"autotune/internal/quote"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// solution is a document that both FlashInfer-Bench and SOL-ExecBench can read. Only FlashInfer-Bench reads the field
// `language`, and only SOL-ExecBench reads `languages` and the compiler's options; each benchmark ignores the other's
// fields.
type solution struct {
	Name        string `json:"name"`
	Definition  string `json:"definition"`
	Author      string `json:"author"`
	Description string `json:"description"`
	Spec        struct {
		Language       string   `json:"language"`
		Languages      []string `json:"languages"`
		TargetHardware []string `json:"target_hardware"`
		EntryPoint     string   `json:"entry_point"`
		Dependencies   []string `json:"dependencies"`
		Destination    bool     `json:"destination_passing_style"`
		Binding        string   `json:"binding"`
		Options        struct {
			CFlags    []string `json:"cflags"`
			CUDAFlags []string `json:"cuda_cflags"`
			LinkFlags []string `json:"ld_flags"`
		} `json:"compile_options"`
	} `json:"spec"`
	Sources []solutionSource `json:"sources"`
}

type solutionSource struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// writeSolution writes a solution with a function run, which takes the kernel's inputs followed by its outputs.
func writeSolution(_ context.Context, out io.Writer, k cudasource.Winner) ([]string, error) {
	var kernel bytes.Buffer
	if err := k.WriteCUDA(&kernel); err != nil {
		return nil, err
	}
	torch, err := binding(k)
	if err != nil {
		return nil, err
	}
	name := k.Problem.Operator.Name
	notes := []string{fmt.Sprintf("definition is %s: write the name of the definition that it solves, "+
		"whose inputs and outputs run takes in this order", name)}
	if len(k.Kernel.Flags) > 0 {
		notes = append(notes, "FlashInfer-Bench has no place for the flags "+strings.Join(k.Kernel.Flags, " "))
	}
	document := solution{
		Name: "autotune_" + name + "_" + k.Kernel.Digest()[:8], Definition: name, Author: "autotune",
		Description: strings.Join(k.Story(), " "),
		Sources:     []solutionSource{{"kernel.cu", torchHeaders + kernel.String() + "\n" + torch}},
	}
	spec := &document.Spec
	spec.Language, spec.Languages, spec.TargetHardware = "cuda", []string{"cuda_cpp"}, []string{"LOCAL"}
	spec.EntryPoint, spec.Dependencies, spec.Destination, spec.Binding = "kernel.cu::run", []string{}, true, "torch"
	spec.Options.CFlags, spec.Options.LinkFlags = []string{}, []string{"-lcuda"}
	spec.Options.CUDAFlags = append([]string{"-O3", "-std=c++17"}, k.Kernel.Flags...)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return notes, e.Encode(document)
}

const torchHeaders = `#include <torch/extension.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

`

// torchTypes maps an operator's types to the types of PyTorch's tensors.
var torchTypes = map[operator.Type]string{
	operator.F64: "at::kDouble", operator.F32: "at::kFloat", operator.F16: "at::kHalf", operator.BF16: "at::kBFloat16",
	operator.F8E4M3: "at::kFloat8_e4m3fn", operator.F8E5M2: "at::kFloat8_e5m2", operator.I64: "at::kLong",
	operator.I32: "at::kInt", operator.I16: "at::kShort", operator.I8: "at::kChar", operator.U64: "at::kUInt64",
	operator.U32: "at::kUInt32", operator.U16: "at::kUInt16", operator.U8: "at::kByte", operator.Bool: "at::kBool",
}

//go:embed binding.cpp.tmpl
var bindingSource string

var bindingPage = template.Must(template.New("binding").Parse(bindingSource))

// binding returns the C++ source of the function run, and of the Python module that contains it. A tensor that the
// kernel both reads and writes is an input and an output, and the output begins as a copy of the input. In the source,
// scalars are constants with the values of the winner's problem.
func binding(k cudasource.Winner) (string, error) {
	var inputs, outputs, passed, steps []string
	step := func(format string, arguments ...any) { steps = append(steps, fmt.Sprintf(format, arguments...)) }
	takes := func(to *[]string, name string, a operator.Argument) string {
		*to = append(*to, name)
		shape, axes := listed(a.Shape), listed(a.Axes())
		step("take(%s, %s, %s, {%s}, {%s});", name, quote.C(a.Name), torchTypes[a.Type], shape, axes)
		return name
	}
	for _, a := range k.Arguments() {
		name := ""
		switch a.Role {
		case operator.Scalar:
			passed = append(passed, cudasource.Literal(a))
			continue
		case operator.Workspace:
			name = "space_" + a.Name
			step("torch::Tensor %s = torch::empty({%d}, options.dtype(at::kByte));", name, max(a.Bytes(), 1))
		case operator.Output:
			name = takes(&outputs, "out_"+a.Name, a)
		case operator.InOut:
			given := takes(&inputs, "in_"+a.Name, a)
			name = takes(&outputs, "out_"+a.Name, a)
			step("%s.copy_(%s);", name, given)
		default:
			name = takes(&inputs, "in_"+a.Name, a)
		}
		pointer := fmt.Sprintf("(%s*)%s.data_ptr()", a.Type.CUDA(), name)
		if a.Elements == 0 {
			pointer = "nullptr"
		}
		passed = append(passed, pointer)
	}
	var text strings.Builder
	err := bindingPage.Execute(&text, struct {
		Operator               string
		Tensors, Steps, Passed []string
	}{k.Problem.Operator.Name, slices.Concat(inputs, outputs), steps, passed})
	return text.String(), err
}

// listed writes numbers as a C++ initializer list, without the braces.
func listed[T any](numbers []T) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}
