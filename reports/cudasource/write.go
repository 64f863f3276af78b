package cudasource

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"autotune/tuner/operator"
)

// WriteCUDA writes the kernel as one .cu file, with a host function that launches
// it. No macro of the kernel's reaches what follows in a program.
func (w Winner) WriteCUDA(out io.Writer) error {
	k := w.Kernel
	text, err := Inline(k.File, k.Source, k.Includes, k.Macros)
	if err != nil {
		return err
	}
	build, err := w.building()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, line := range slices.Concat(w.Story(), []string{""}, build, w.launching()) {
		b.WriteString(strings.TrimRight("// "+line, " ") + "\n")
	}
	b.WriteString("\n" + w.headers() + Defines(k.Macros) + "\n" + text + "\n" + Undefines(k.Macros, text) + "\n" + w.launcher())
	_, err = io.WriteString(out, b.String())
	return err
}

// building says how to compile the file.
func (w Winner) building() ([]string, error) {
	target, why, err := w.architecture()
	return []string{fmt.Sprintf("Build with nvcc -O3 -std=c++17 -arch=%s (%s).", target, why)}, err
}

// architecture is what nvcc compiles for: the device of the search. An
// architecture with its own features, as sm_90a, is named only for a kernel that
// needs it.
func (w Winner) architecture() (target, why string, err error) {
	target = w.Best.Target
	tuned := target != "" && w.Best.Device.Kind.Properties().Caveat == ""
	if !tuned {
		target = w.Problem.Limits.Target
	}
	common := strings.TrimRight(target, "abcdefghijklmnopqrstuvwxyz")
	needed := false
	if common != target {
		there, err := w.servedBy(target)
		if err != nil {
			return "", "", err
		}
		elsewhere, err := w.servedBy(common)
		if err != nil {
			return "", "", err
		}
		needed = there && !elsewhere
	}
	switch {
	case needed:
		return target, "the kernel needs what only this architecture has", nil
	case tuned:
		return common, "the GPU of the search", nil
	}
	return "native", "the GPU at hand", nil
}

// servedBy tells whether the configuration is valid for an architecture.
func (w Winner) servedBy(target string) (bool, error) {
	limits := w.Problem.Limits
	limits.Target = target
	p, err := w.Problem.Operator.Bind(w.Best.Problem.Request(), limits)
	if err != nil {
		return false, err
	}
	s, err := p.Space(context.Background())
	if err != nil {
		return false, nil // no configuration is valid
	}
	_, found := s.Index(w.Best.Configuration)
	return found, nil
}

// headers are those of CUDA that declare the arguments' types. They come first, so
// that they never meet a kernel's macros.
func (w Winner) headers() string {
	var names []string
	for _, a := range w.Problem.Arguments {
		if h := a.Type.Header(); h != "" {
			names = append(names, h)
		}
	}
	slices.Sort(names)
	text := ""
	for _, name := range slices.Compact(names) {
		text += "#include <" + name + ">\n"
	}
	if text != "" {
		text += "\n"
	}
	return text
}

// launching says what to launch the kernel with, and on what.
func (w Winner) launching() []string {
	l := w.Kernel.Launches[0]
	lines := []string{
		fmt.Sprintf("Launch %s with grid %s, block %s and %d bytes of dynamic shared memory.", w.Kernel.Launches[0].Entry, extent(l.Grid), extent(l.Block), l.SharedBytes),
		fmt.Sprintf("%s at the end of the file does so.", w.launcherName()),
	}
	if !slices.ContainsFunc(w.Problem.Arguments, func(a operator.Argument) bool { return a.Type != operator.F32 || a.Role == operator.Scalar }) {
		lines = append(lines, "All tensors are float32, dense and row-major, 16-byte aligned at least, and of these shapes:")
		for _, a := range w.Problem.Arguments {
			lines = append(lines, fmt.Sprintf("    %s (%s): %s", a.Name, a.Role, shapeOf(a)))
		}
		return lines
	}
	lines = append(lines, "All tensors are dense and row-major, 16-byte aligned at least, and of these types and shapes:")
	for _, a := range w.Problem.Arguments {
		if a.Role == operator.Scalar {
			lines = append(lines, fmt.Sprintf("    %s (%s): %s, %v for this problem", a.Name, a.Role, a.Type, a.Value))
			continue
		}
		lines = append(lines, fmt.Sprintf("    %s (%s): %s, %s", a.Name, a.Role, a.Type, shapeOf(a)))
	}
	return lines
}

func shapeOf(a operator.Argument) string {
	switch {
	case a.Elements == 0:
		return "a null pointer"
	case len(a.Shape) == 0:
		return "one element"
	}
	return operator.FormatShape(a.Shape)
}

// parameter declares an argument, const if a kernel may only read what it points to.
func parameter(a operator.Argument) string {
	name := identifier(a.Name)
	switch {
	case a.Role == operator.Scalar:
		return a.Type.CUDA() + " " + name
	case a.Role.Written():
		return a.Type.CUDA() + "* " + name
	}
	return "const " + a.Type.CUDA() + "* " + name
}

func (w Winner) launcherName() string { return "launch_" + w.Problem.Operator.Name }

// launcher is the host function. NVRTC, which knows no host, passes it over.
func (w Winner) launcher() string {
	l := w.Kernel.Launches[0]
	var parameters, arguments []string
	for _, a := range w.Problem.Arguments {
		parameters, arguments = append(parameters, parameter(a)), append(arguments, identifier(a.Name))
	}
	var b strings.Builder
	b.WriteString("#ifndef __CUDACC_RTC__\n")
	fmt.Fprintf(&b, "// %s puts the kernel on a stream. It checks no shapes and no pointers.\n", w.launcherName())
	fmt.Fprintf(&b, "extern \"C\" cudaError_t %s(%s, cudaStream_t stream) {\n", w.launcherName(), strings.Join(parameters, ", "))
	if l.SharedBytes > 48<<10 {
		b.WriteString("    // More than 48 KiB of dynamic shared memory must be allowed.\n")
		fmt.Fprintf(&b, "    const cudaError_t allowed =\n        cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %d);\n", w.Kernel.Launches[0].Entry, l.SharedBytes)
		b.WriteString("    if (allowed != cudaSuccess) return allowed;\n")
	}
	fmt.Fprintf(&b, "    %s<<<%s, %s, %d, stream>>>(%s);\n", w.Kernel.Launches[0].Entry, Dim3(l.Grid), Dim3(l.Block), l.SharedBytes, strings.Join(arguments, ", "))
	b.WriteString("    return cudaGetLastError();\n}\n#endif\n")
	return b.String()
}

// identifier makes a tensor's name one of C++ that is free in the host function.
func identifier(name string) string {
	if name == "stream" || name == "allowed" || slices.Contains(reserved, name) {
		return name + "_"
	}
	return name
}

// reserved are the words of C++ that a tensor's name could be.
var reserved = strings.Fields(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl
	concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else
	enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
	nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed sizeof static
	static_assert static_cast struct switch template this throw true try typedef typeid typename union unsigned using
	virtual void volatile wchar_t while xor xor_eq`)

func extent(e [3]int64) string { return operator.FormatShape(e[:]) }

// Dim3 writes an extent as CUDA C++ reads it.
func Dim3(e [3]int64) string { return fmt.Sprintf("dim3(%d, %d, %d)", e[0], e[1], e[2]) }
