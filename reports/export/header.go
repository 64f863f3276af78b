package export

import (
	"context"
	"fmt"
	"io"
	"strings"

	"autotune/internal/lists"
	"autotune/reports/cudasource"
	"autotune/tuner/compile"
	"autotune/tuner/operator"
)

var header = Format{Name: "header", Summary: "a header for C and C++ with the compiled kernel and its launch through CUDA's driver", Write: writeHeader}

func writeHeader(ctx context.Context, out io.Writer, w Winner) ([]string, error) {
	k, err := w.Kernel()
	if err != nil {
		return nil, err
	}
	b, target, err := Compiled(ctx, k, func(target string) string { return target })
	if err != nil {
		return nil, err
	}
	_, err = io.WriteString(out, headerText(k, b, target))
	return nil, err
}

// headerText is the header around a binary. All in it is static: a program may include it
// in several of its files.
func headerText(k cudasource.Winner, b *compile.Binary, target string) string {
	h := headerWriter{Winner: k, name: "autotune_" + k.Problem.Operator.Name, binary: b}
	story := append(k.Story(), "Compiled for "+target+" by NVRTC.",
		h.name+"_load loads the kernel into the current context, once; "+h.name+"_launch puts it on a stream.",
		"They check no shapes and no pointers, which must be aligned to 16 bytes.", "")
	for _, a := range k.Arguments() {
		switch {
		case a.Role == operator.Scalar:
			story = append(story, fmt.Sprintf("%s (%s): %s, %v for this problem", a.Name, a.Role, a.Type, a.Value))
		default:
			story = append(story, fmt.Sprintf("%s (%s): %s, %s", a.Name, a.Role, a.Type, a.ShapeText()))
		}
	}
	for _, line := range story {
		h.line("%s", strings.TrimRight("/* "+strings.ReplaceAll(line, "*/", "* /"), " ")+" */")
	}
	guard := strings.ToUpper(h.name) + "_H"
	h.line("#ifndef %s\n#define %[1]s\n\n#include <cuda.h>\n#include <string.h>\n", guard)
	h.code()
	h.types()
	h.load()
	h.launch()
	h.line("#endif")
	return h.String()
}

type headerWriter struct {
	strings.Builder
	cudasource.Winner
	name   string
	binary *compile.Binary
}

func (h *headerWriter) line(format string, arguments ...any) {
	fmt.Fprintf(h, format+"\n", arguments...)
}

// bytesALine is how many bytes of the binary stand in a line.
const bytesALine = 24

func (h *headerWriter) code() {
	h.line("static const unsigned char %s_code[%d] = {", h.name, len(h.binary.Code))
	for at := 0; at < len(h.binary.Code); at += bytesALine {
		for _, c := range h.binary.Code[at:min(at+bytesALine, len(h.binary.Code))] {
			fmt.Fprintf(h, "%d,", c)
		}
		h.line("")
	}
	h.line("};\n")
}

// constants are the arguments that are copied to constant memory.
func (h *headerWriter) constants() (all []operator.Argument) {
	return lists.Where(h.Arguments(), func(a operator.Argument) bool { return a.Symbol != "" && a.Elements > 0 })
}

func (h *headerWriter) types() {
	h.line("typedef struct {\n    CUmodule module;\n    CUfunction functions[%d];", len(h.Kernel.Launches))
	if n := len(h.constants()); n > 0 {
		h.line("    CUdeviceptr constants[%d];", n)
	}
	h.line("} %s_kernel;\n", h.name)
}

// step writes a call that is made where nothing has failed before.
func (h *headerWriter) step(format string, arguments ...any) {
	h.line("    if (status == CUDA_SUCCESS) status = "+format+";", arguments...)
}

func (h *headerWriter) load() {
	h.line("static inline CUresult %s_load(%[1]s_kernel* kernel) {", h.name)
	h.line("    CUresult status = cuModuleLoadData(&kernel->module, %s_code);", h.name)
	for i, l := range h.Kernel.Launches {
		h.step("cuModuleGetFunction(&kernel->functions[%d], kernel->module, %q)", i, h.binary.Symbol(l.Entry))
		if l.SharedBytes > 48<<10 {
			h.step("cuFuncSetAttribute(kernel->functions[%d], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, %d)", i, l.SharedBytes)
		}
	}
	for i, a := range h.constants() {
		h.step("cuModuleGetGlobal(&kernel->constants[%d], NULL, kernel->module, %q)", i, a.Symbol)
	}
	h.line("    return status;\n}\n")
	h.line("static inline CUresult %s_unload(%[1]s_kernel* kernel) { return cuModuleUnload(kernel->module); }\n", h.name)
}

// cTypes are the types of C of those of operators that CUDA alone has.
var cTypes = map[operator.Type]string{
	operator.F16: "unsigned short", operator.BF16: "unsigned short", operator.F8E4M3: "unsigned char", operator.F8E5M2: "unsigned char", operator.Bool: "unsigned char",
}

func (h *headerWriter) launch() {
	parameters := []string{fmt.Sprintf("const %s_kernel* kernel", h.name)}
	for _, a := range h.Arguments() {
		kind, known := cTypes[a.Type]
		switch {
		case a.Role != operator.Scalar:
			kind = "CUdeviceptr"
		case !known:
			kind = a.Type.CUDA()
		}
		parameters = append(parameters, kind+" "+member(a.Name))
	}
	h.line("static inline CUresult %s_launch(%s, CUstream stream) {", h.name, strings.Join(parameters, ", "))
	h.line("    CUresult status = CUDA_SUCCESS;")
	for i, a := range h.constants() {
		h.step("cuMemcpyDtoDAsync(kernel->constants[%d], %s, %d, stream)", i, member(a.Name), a.Bytes())
	}
	for i, l := range h.Kernel.Launches {
		h.one(i, l)
	}
	h.line("    return status;\n}\n")
}

// one writes one of the launches.
func (h *headerWriter) one(i int, l operator.Launch) {
	addresses := lists.Of(operator.Passed(h.Problem.Arguments, l), func(at int) string { return "&" + member(h.Problem.Arguments[at].Name) })
	h.line("    {\n        CUlaunchConfig config;\n        CUlaunchAttribute attributes[3];")
	h.line("        void* arguments[] = {%s};", strings.Join(append(addresses, "NULL"), ", "))
	h.line("        memset(&config, 0, sizeof config);\n        memset(attributes, 0, sizeof attributes);")
	for axis, name := range []string{"X", "Y", "Z"} {
		h.line("        config.gridDim%s = %d, config.blockDim%[1]s = %[3]d;", name, l.Grid[axis], l.Block[axis])
	}
	count := 0
	attribute := func(id string, values ...string) {
		h.line("        attributes[%d].id = CU_LAUNCH_ATTRIBUTE_%s;", count, id)
		for _, v := range values {
			h.line("        attributes[%d].value.%s;", count, v)
		}
		count++
	}
	if l.Clustered() {
		attribute("CLUSTER_DIMENSION", fmt.Sprintf("clusterDim.x = %d", l.Cluster[0]), fmt.Sprintf("clusterDim.y = %d", l.Cluster[1]), fmt.Sprintf("clusterDim.z = %d", l.Cluster[2]))
	}
	if l.Dependent {
		attribute("PROGRAMMATIC_STREAM_SERIALIZATION", "programmaticStreamSerializationAllowed = 1")
	}
	if l.Cooperative {
		attribute("COOPERATIVE", "cooperative = 1")
	}
	h.line("        config.sharedMemBytes = %d, config.hStream = stream, config.attrs = attributes, config.numAttrs = %d;", l.SharedBytes, count)
	h.line("        if (status == CUDA_SUCCESS) status = cuLaunchKernelEx(&config, kernel->functions[%d], arguments, NULL);\n    }", i)
}

// member makes an argument's name one of C that is free in the launching function.
func member(name string) string {
	switch name {
	case "kernel":
		return "kernel_"
	}
	return cudasource.Identifier(name)
}
