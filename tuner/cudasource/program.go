package cudasource

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/device"
	"autotune/device/elements"
	"autotune/internal/cudafile"
	"autotune/internal/quote"
	"autotune/operator"
)

// programText is the part of a program that is the same for every kernel. In place of
// its lines that begin with //: stand the reference, elements.h and the problem's tensors.
//
//go:embed program.cu
var programText string

// ErrNoProgram means that one file cannot check the kernel by itself.
var ErrNoProgram = errors.New("the file has no main")

// WriteProgram writes what WriteCUDA does. Where AUTOTUNE_MAIN is defined, the file is a
// program. It fills the tensors as a search does, compares the kernel with the
// reference and times it. An error that wraps ErrNoProgram says why the file, which is
// written all the same, has no such part.
func (w Winner) WriteProgram(out io.Writer) error {
	program, refused := w.program()
	if refused != nil && !errors.Is(refused, ErrNoProgram) {
		return refused
	}
	if err := w.WriteCUDA(out); err != nil {
		return err
	}
	if _, err := io.WriteString(out, program); err != nil {
		return err
	}
	return refused
}

func (w Winner) program() (string, error) {
	p := w.Problem
	_, compares := p.Comparing()
	switch {
	case p.Operator.Answers != nil:
		return "", fmt.Errorf("%w: %s says what is right, and no kernel; autotune verify asks it", ErrNoProgram, p.Operator.Answers)
	case compares:
		return "", fmt.Errorf("%w: the operator compares in a way of its own; autotune verify does so", ErrNoProgram)
	}
	for _, a := range p.Arguments {
		if !a.Fill.Drawn() {
			return "", fmt.Errorf("%w: a file of the operator's fills %s; autotune verify reads it", ErrNoProgram, a.Name)
		}
	}
	reference, err := w.reference()
	if err != nil {
		return "", err
	}
	tensors, err := w.tensors()
	if err != nil {
		return "", err
	}
	text := programText
	for place, with := range map[string]string{"reference": reference, "elements": elements.Source, "tensors": tensors} {
		text = strings.Replace(text, "//: "+place+"\n", with, 1)
	}
	return "\n" + text, nil
}

var (
	angleForm   = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*<[^>\n]*>[^\n]*\n`)
	linkageForm = regexp.MustCompile(`\bextern[ \t]+"C"[ \t]*(\{?)`)
)

// reference is the reference's kernel and the function that launches it, in a namespace:
// they may have names and files in common with the winner.
func (w Winner) reference() (string, error) {
	k, err := w.Problem.Reference()
	if err != nil {
		return "", err
	}
	text, err := Inline(k.File, k.Source, k.Includes)
	if err != nil {
		return "", err
	}
	winner, err := Inline(w.Kernel.File, w.Kernel.Source, w.Kernel.Includes)
	if err != nil {
		return "", err
	}
	own := w
	own.Kernel = k
	headers := ""
	text = angleForm.ReplaceAllStringFunc(text, func(line string) string {
		if strings.Contains(line, "<emulated/") {
			return line // under a condition
		}
		headers += line
		return "\n"
	})
	renamed := both(text, winner)
	if slices.Contains(renamed, "operator") {
		return "", fmt.Errorf("%w: the reference and the kernel both define operators", ErrNoProgram)
	}
	defines, undefines := "", ""
	for _, name := range renamed {
		defines += fmt.Sprintf("#define %s reference_%[1]s\n", name)
		undefines += fmt.Sprintf("#undef %s\n", name)
	}
	if strings.Contains(text, "<emulated/") { // the emulator's own files are included once, under their own names
		defines = "#ifndef AUTOTUNE_EMULATOR\n" + defines + "#endif\n"
	}
	headers += defines
	text = Defines(k.Macros) + text + "\n" + Undefines(k.Macros, text) + strings.ReplaceAll(own.launcher(), w.launcherName(), "launch_reference")
	text = linkageForm.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasSuffix(found, "{") {
			return "inline namespace linkage {"
		}
		return ""
	})
	return headers + "namespace reference {\n" + text + "}\n" + undefines, nil
}

// functionForm is the head of a function that is defined.
var functionForm = regexp.MustCompile(`\b(operator|[A-Za-z_]\w*)\s*(?:[-+*/%=<>!&|^~\[\]]{1,3}\s*)?\((?:[^(){};]|\([^(){};]*\))*\)\s*(?:const\s*)?\{`)

// both are the functions that two texts define. A call in a namespace finds those outside of it
// too where an argument's type is CUDA's, as float4.
func both(text, other string) (names []string) {
	defined := func(text string) map[string]bool {
		all := map[string]bool{}
		for _, m := range functionForm.FindAllStringSubmatch(cudafile.Code(text), -1) {
			if !slices.Contains(reserved, m[1]) || m[1] == "operator" {
				all[m[1]] = true
			}
		}
		return all
	}
	there := defined(other)
	for name := range defined(text) {
		if there[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tensors are the problem's, as a table, and the calls of both launching functions.
func (w Winner) tensors() (string, error) {
	protocol := device.ProtocolFor(w.Problem.Operator)
	fills, err := elements.FillsOf(w.Problem.Arguments, protocol.Distribution, protocol.Seed)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("static const Tensor tensors[] = {\n")
	place := map[string]int{}
	for i, a := range w.Problem.Arguments {
		if a.Role == operator.Scalar {
			continue
		}
		place[a.Name] = len(place)
		f := fills[i]
		fmt.Fprintf(&b, "    {%s, %d, %dull, %t, %t, %t, %du, %d, %s, %s, %s, %s},\n", quote.C(a.Name), elements.TypeNumber(a.Type), a.Elements, a.Role.Filled(), a.Role.Written(),
			a.Role.Compared(), f.Seed, f.Distribution, double(f.A), double(f.B), double(a.ATol), double(a.RTol))
	}
	b.WriteString("};\n\n")
	k, err := w.Problem.Reference()
	if err != nil {
		return "", err
	}
	own := w
	own.Kernel = k
	for _, call := range []struct {
		name, calls string
		arguments   []operator.Argument
	}{{"run_winner", w.launcherName(), w.Arguments()}, {"run_reference", "reference::launch_reference", own.Arguments()}} {
		var passed []string
		for _, a := range call.arguments {
			if a.Role == operator.Scalar {
				passed = append(passed, Literal(a))
			} else {
				passed = append(passed, fmt.Sprintf("(%s*)data[%d]", a.Type.CUDA(), place[a.Name]))
			}
		}
		fmt.Fprintf(&b, "static cudaError_t %s(void** data) {\n    return %s(%s, 0);\n}\n", call.name, call.calls, strings.Join(passed, ", "))
	}
	return b.String(), nil
}

func double(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// Literal is a scalar's value for this problem as CUDA C++ writes it.
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
