package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"autotune/internal/quote"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

var solutionDocument = Format{Name: "solution", Summary: "a solution.json of FlashInfer-Bench and SOL-ExecBench", Write: writeSolution}

// solution is the document of both benchmarks. FlashInfer-Bench reads `language`, SOL-ExecBench
// `languages` and the compiler's options; each ignores what it does not know.
type solution struct {
	Name        string           `json:"name"`
	Definition  string           `json:"definition"`
	Author      string           `json:"author"`
	Description string           `json:"description"`
	Spec        solutionSpec     `json:"spec"`
	Sources     []solutionSource `json:"sources"`
}

type solutionSpec struct {
	Language       string         `json:"language"`
	Languages      []string       `json:"languages"`
	TargetHardware []string       `json:"target_hardware"`
	EntryPoint     string         `json:"entry_point"`
	Dependencies   []string       `json:"dependencies"`
	Destination    bool           `json:"destination_passing_style"`
	Binding        string         `json:"binding"`
	Options        compileOptions `json:"compile_options"`
}

type compileOptions struct {
	CFlags    []string `json:"cflags"`
	CUDAFlags []string `json:"cuda_cflags"`
	LinkFlags []string `json:"ld_flags"`
}

type solutionSource struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// writeSolution writes a solution with a function run, which takes what the kernel reads and then
// what it writes.
func writeSolution(_ context.Context, out io.Writer, w Winner) ([]string, error) {
	k, err := w.Kernel()
	if err != nil {
		return nil, err
	}
	var kernel bytes.Buffer
	if err := k.WriteCUDA(&kernel); err != nil {
		return nil, err
	}
	name := k.Problem.Operator.Name
	notes := []string{fmt.Sprintf("definition is %s: write the name of the definition that it solves, whose inputs and outputs run takes in this order", name)}
	if len(k.Kernel.Flags) > 0 {
		notes = append(notes, "FlashInfer-Bench has no place for the flags "+strings.Join(k.Kernel.Flags, " "))
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return notes, e.Encode(solution{
		Name: "autotune_" + name + "_" + k.Kernel.Digest()[:8], Definition: name, Author: "autotune", Description: strings.Join(k.Story(), " "),
		Spec: solutionSpec{
			Language: "cuda", Languages: []string{"cuda_cpp"}, TargetHardware: []string{"LOCAL"},
			EntryPoint: "kernel.cu::run", Dependencies: []string{}, Destination: true, Binding: "torch",
			Options: compileOptions{CFlags: []string{}, CUDAFlags: append([]string{"-O3", "-std=c++17"}, k.Kernel.Flags...), LinkFlags: []string{"-lcuda"}},
		},
		Sources: []solutionSource{{"kernel.cu", "#include <torch/extension.h>\n#include <c10/cuda/CUDAGuard.h>\n#include <c10/cuda/CUDAStream.h>\n\n" + kernel.String() + "\n" + binding(k)}},
	})
}

// torchTypes are the types of PyTorch's tensors by those of operators.
var torchTypes = map[operator.Type]string{
	operator.F64: "at::kDouble", operator.F32: "at::kFloat", operator.F16: "at::kHalf", operator.BF16: "at::kBFloat16", operator.F8E4M3: "at::kFloat8_e4m3fn",
	operator.F8E5M2: "at::kFloat8_e5m2", operator.I64: "at::kLong", operator.I32: "at::kInt", operator.I16: "at::kShort", operator.I8: "at::kChar",
	operator.U64: "at::kUInt64", operator.U32: "at::kUInt32", operator.U16: "at::kUInt16", operator.U8: "at::kByte", operator.Bool: "at::kBool",
}

// binding is the function run and its module. What the kernel reads and writes is an input and
// an output: the output begins as a copy of the input. Scalars have this problem's values.
func binding(k cudasource.Winner) string {
	var b strings.Builder
	line := func(format string, arguments ...any) { fmt.Fprintf(&b, format+"\n", arguments...) }
	var inputs, outputs, passed, body []string
	step := func(format string, arguments ...any) { body = append(body, fmt.Sprintf(format, arguments...)) }
	takes := func(name string, a operator.Argument) {
		step("take(%s, %s, %s, {%s}, {%s});", name, quote.C(a.Name), torchTypes[a.Type], listed(a.Shape), listed(a.Axes()))
	}
	for _, a := range k.Arguments() {
		name, pointer := "in_"+a.Name, ""
		switch a.Role {
		case operator.Scalar:
			passed = append(passed, cudasource.Literal(a))
			continue
		case operator.Workspace:
			name = "space_" + a.Name
			step("torch::Tensor %s = torch::empty({%d}, options.dtype(at::kByte));", name, max(a.Bytes(), 1))
		case operator.Output:
			name = "out_" + a.Name
			outputs = append(outputs, "torch::Tensor "+name)
			takes(name, a)
		case operator.InOut:
			inputs, outputs = append(inputs, "torch::Tensor "+name), append(outputs, "torch::Tensor out_"+a.Name)
			takes(name, a)
			takes("out_"+a.Name, a)
			step("out_%s.copy_(%s);", a.Name, name)
			name = "out_" + a.Name
		default:
			inputs = append(inputs, "torch::Tensor "+name)
			takes(name, a)
		}
		if pointer = fmt.Sprintf("(%s*)%s.data_ptr()", a.Type.CUDA(), name); a.Elements == 0 {
			pointer = "nullptr"
		}
		passed = append(passed, pointer)
	}
	all := slices.Concat(inputs, outputs)
	first := strings.TrimPrefix(all[0], "torch::Tensor ")
	line("static void take(const torch::Tensor& t, const char* name, at::ScalarType type, at::IntArrayRef shape, at::IntArrayRef order) {")
	line("    TORCH_CHECK(t.is_cuda() && t.scalar_type() == type && t.sizes() == shape && t.permute(order).is_contiguous(), name,")
	line("                \" must be a dense tensor of its type with the shape \", shape, \" and, from the outermost in memory, the axes \", order);")
	line("}\n")
	line("void run(%s) {", strings.Join(all, ", "))
	line("    const c10::cuda::CUDAGuard guard(%s.device());", first)
	line("    const auto options = %s.options();\n    (void)options;", first)
	for _, text := range body {
		line("    %s", text)
	}
	line("    const cudaError_t status = launch_%s(%s, c10::cuda::getCurrentCUDAStream());", k.Problem.Operator.Name, strings.Join(passed, ", "))
	line("    TORCH_CHECK(status == cudaSuccess, cudaGetErrorString(status));\n}\n")
	line("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"run\", &run); }")
	return b.String()
}

// listed are numbers as a list of C++ has them.
func listed[T any](numbers []T) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}
