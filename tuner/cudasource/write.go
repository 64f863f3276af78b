package cudasource

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"autotune/device/compile"
	"autotune/internal/lists"
	"autotune/internal/quote"
	"autotune/operator"
)

// WriteCUDA writes the kernel as one .cu file with a host function that launches it. The written file undefines all its
// macros at the end, so that they do not affect other code of a program.
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
		b.WriteString(strings.TrimRight("// "+quote.CLine(line), " ") + "\n")
	}
	b.WriteString("\n" + w.headers() + Defines(k.Macros) + "\n" + text + "\n" + Undefines(k.Macros, text) + "\n" + w.launcher())
	_, err = io.WriteString(out, b.String())
	return err
}

// building returns the comment in the written .cu file that tells how to compile the file.
func (w Winner) building() ([]string, error) {
	target, why, err := w.architecture()
	flags := strings.Join(append([]string{"-O3", "-std=c++17"}, w.Kernel.Flags...), " ")
	return []string{fmt.Sprintf("Build with nvcc %s %s (%s).", flags, targetFlag(target), why)}, err
}

// targetFlag returns nvcc's option for an architecture. For an architecture with its own features, such as sm_90a,
// -arch may also generate code for the plain architecture, where the kernel does not compile.
func targetFlag(target string) string {
	if number, own := strings.CutPrefix(target, "sm_"); own && strings.TrimRight(number, "0123456789") != "" {
		return fmt.Sprintf("-gencode=arch=compute_%s,code=%s", number, target)
	}
	return "-arch=" + target
}

// architecture returns nvcc's target for the device of the search, and the reason. architecture returns an architecture
// with its own features, such as sm_90a, only for a kernel that needs these features.
func (w Winner) architecture() (target, why string, err error) {
	target = w.Best.Target
	tuned := target != "" && w.Best.Device.Kind.Properties().Caveat == ""
	if !tuned {
		target = w.Problem.Limits.Target
	}
	if common := withoutFeatures(target); common != target {
		there, err := w.ServedBy(target)
		if err != nil {
			return "", "", err
		}
		elsewhere, err := w.ServedBy(common)
		if there && !elsewhere || err != nil {
			return target, "the kernel needs what only this architecture has", err
		}
	}
	if tuned {
		return withoutFeatures(target), "the GPU of the search", nil
	}
	return "native", "the GPU at hand", nil
}

// withoutFeatures returns an architecture's name without the letter for its own features: sm_90 for sm_90a.
func withoutFeatures(target string) string {
	return strings.TrimRight(target, "abcdefghijklmnopqrstuvwxyz")
}

// Target returns the architecture to compile a binary for: that of the search's GPU, or a typical one if the search
// did not use a GPU.
func (w Winner) Target() (string, error) {
	target, _, err := w.architecture()
	if target == "native" {
		target = withoutFeatures(w.Problem.Limits.Target)
	}
	return target, err
}

func (w Winner) ServedBy(target string) (bool, error) {
	limits := w.Problem.Limits
	limits.Target = target
	p, err := w.Problem.Operator.Bind(w.Best.Problem.Request(), limits)
	if err != nil {
		return false, err
	}
	s, err := p.Space(context.Background())
	if err != nil {
		return false, nil // no configuration is valid there
	}
	_, found := s.Index(w.Best.Configuration)
	return found, nil
}

// headers returns #include lines for CUDA's headers of the arguments' types, and for CUB. The #include lines come first
// in a written file, so that a kernel's macros do not affect the headers.
func (w Winner) headers() string {
	var names []string
	for _, a := range w.Arguments() {
		if h := a.Type.Header(); h != "" {
			names = append(names, h)
		}
	}
	slices.Sort(names)
	names = append(names, compile.GPUHeaders(w.Kernel)...)
	text := ""
	for _, name := range slices.Compact(names) {
		text += "#include <" + name + ">\n"
	}
	if text != "" {
		text += "\n"
	}
	return text
}

// launching returns the comment lines that describe the launches and their arguments.
func (w Winner) launching() []string {
	var lines []string
	for i, l := range w.Kernel.Launches {
		text := fmt.Sprintf("Launch %s with %s.", l.Entry, l)
		if i > 0 {
			text = fmt.Sprintf("Then launch %s with %s.", l.Entry, l)
		}
		lines = append(lines, text)
	}
	lines = append(lines, fmt.Sprintf("%s at the end of the file does so.", w.launcherName()))
	lines = append(lines, "All tensors are dense and row-major, 16-byte aligned at least, and of these types and shapes:")
	for _, a := range w.Arguments() {
		about := shapeOf(a)
		if a.Role == operator.Scalar {
			about = fmt.Sprintf("%v for this problem", a.Value)
		}
		lines = append(lines, fmt.Sprintf("    %s (%s): %s, %s", a.Name, a.Role, a.Type, about))
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
	return a.ShapeText()
}

func (w Winner) launcherName() string { return "launch_" + w.Problem.Operator.Name }

// launcherText is a text/template of the host function. NVRTC skips the host function, since it compiles no host code.
// The host function passes each argument by address, since a kernel may declare a tensor as a pointer to vectors.
//
//go:embed launcher.cu.tmpl
var launcherText string

var launcherPage = template.Must(template.New("launcher").Funcs(template.FuncMap{
	"parameter": parameter, "identifier": Identifier, "dim3": Dim3, "attributes": Attributes,
	"launching": func(w Winner, l operator.Launch) launching { return launching{w.Given(l, identifierOf), l, l.Entry} },
}).Parse(launcherText))

func (w Winner) launcher() string {
	return filled("launcher", struct {
		Winner
		Name string
	}{w, w.launcherName()})
}

// launching is the data for the host function's template of one launch.
type launching struct {
	Given
	Launch operator.Launch
	Kernel string
}

// Launching returns the statements of a host function that launch a kernel on `stream` if `status` is cudaSuccess.
// `kernel` is the C++ name of the kernel, and the function `name` returns the C++ name of an argument.
func (w Winner) Launching(l operator.Launch, kernel string, name func(operator.Argument) string) string {
	return filled("launch", launching{w.Given(l, name), l, kernel})
}

func filled(page string, with any) string {
	var b strings.Builder
	if err := launcherPage.ExecuteTemplate(&b, page, with); err != nil {
		panic(err) // the template uses only names that exist
	}
	return b.String()
}

// Given holds a launch's arguments as C expressions: the addresses to pass, and one row of 16 words for each tensor
// map, which the host function puts into its array `maps`.
type Given struct{ Addresses, Maps []string }

// Given returns the arguments of a launch as C expressions. The function `name` returns the name of an argument in the
// host function.
func (w Winner) Given(l operator.Launch, name func(operator.Argument) string) (g Given) {
	for i, a := range w.Passed(l) {
		m := l.MapAt(i)
		if m == nil {
			g.Addresses = append(g.Addresses, "&"+name(a))
			continue
		}
		row := "(unsigned long long)" + name(a)
		for _, word := range m.Words {
			row += fmt.Sprintf(", 0x%xull", uint64(word))
		}
		g.Addresses, g.Maps = append(g.Addresses, fmt.Sprintf("maps[%d]", len(g.Maps))), append(g.Maps, row)
	}
	return g
}

// Arguments returns the arguments of the problem, except for workspaces that belong to a template and that no launch of
// the kernel takes.
func (w Winner) Arguments() []operator.Argument {
	return slices.DeleteFunc(slices.Clone(w.Problem.Arguments), func(a operator.Argument) bool {
		return a.Owner != "" && !w.Kernel.Launches.Name(a.Name)
	})
}

// Passed returns the arguments that a launch passes to its kernel.
func (w Winner) Passed(l operator.Launch) []operator.Argument {
	return lists.Of(operator.Passed(w.Problem.Arguments, l), func(i int) operator.Argument { return w.Problem.Arguments[i] })
}

// Attribute is a launch attribute: its names in CUDA's runtime and driver interfaces, and statements that set its
// value.
type Attribute struct {
	Runtime, Driver string
	Values          []string
}

func Attributes(l operator.Launch) (all []Attribute) {
	if l.Clustered() {
		all = append(all, Attribute{"ClusterDimension", "CLUSTER_DIMENSION", []string{
			fmt.Sprintf("clusterDim.x = %d", l.Cluster[0]), fmt.Sprintf("clusterDim.y = %d", l.Cluster[1]), fmt.Sprintf("clusterDim.z = %d", l.Cluster[2])}})
	}
	if l.Dependent {
		all = append(all, Attribute{"ProgrammaticStreamSerialization", "PROGRAMMATIC_STREAM_SERIALIZATION", []string{"programmaticStreamSerializationAllowed = 1"}})
	}
	if l.Cooperative {
		all = append(all, Attribute{"Cooperative", "COOPERATIVE", []string{"cooperative = 1"}})
	}
	return all
}

// parameter returns the C++ declaration of an argument, with const if the kernel only reads the tensor.
func parameter(a operator.Argument) string {
	name := Identifier(a.Name)
	switch {
	case a.Role == operator.Scalar:
		return a.Type.CUDA() + " " + name
	case a.Role.Written():
		return a.Type.CUDA() + "* " + name
	}
	return "const " + a.Type.CUDA() + "* " + name
}

// Identifier returns a tensor's name, with an underscore added if C++ or the host function uses that name already.
func Identifier(name string) string {
	if slices.Contains(own, name) || slices.Contains(reserved, name) {
		return name + "_"
	}
	return name
}

func identifierOf(a operator.Argument) string { return Identifier(a.Name) }

// own lists the names that the host function itself declares.
var own = []string{"stream", "status", "arguments", "attributes", "config", "maps"}

// reserved lists the keywords of C and C++ that op.yaml would allow as the name of a tensor.
var reserved = strings.Fields(`alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl
	concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else
	enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
	nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof
	static static_assert static_cast struct switch template this throw true try typedef typeid typename union unsigned using
	virtual void volatile wchar_t while xor xor_eq`)

// Dim3 returns a grid or block size as a CUDA C++ expression.
func Dim3(e [3]int64) string { return fmt.Sprintf("dim3(%d, %d, %d)", e[0], e[1], e[2]) }

func double(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// Literal returns the value of a scalar argument as a CUDA C++ literal.
func Literal(a operator.Argument) string {
	text := a.Value.Source()
	switch n, whole := a.Value.AsInt(); {
	case a.Type == operator.Bool:
		return strconv.FormatBool(a.Value.Truth())
	case a.Type.Kind() == operator.Floating:
		if v, ok := a.Value.AsFloat(); ok {
			text = double(v)
		}
		if a.Type.Bytes() < 4 {
			text += "f"
		}
	case whole && n == -1<<63:
		text = "(-9223372036854775807ll - 1)"
	case whole:
		text = strconv.FormatInt(n, 10) + "ll"
	}
	return fmt.Sprintf("static_cast<%s>(%s)", a.Type.CUDA(), text)
}
