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
	flags := strings.Join(append([]string{"-O3", "-std=c++17"}, w.Kernel.Flags...), " ")
	return []string{fmt.Sprintf("Build with nvcc %s %s (%s).", flags, targetFlag(target), why)}, err
}

// targetFlag is how nvcc is told what to compile for. Of an architecture with its own
// features -arch may make code without them, too, for which the kernel does not compile.
func targetFlag(target string) string {
	if number, own := strings.CutPrefix(target, "sm_"); own && strings.TrimRight(number, "0123456789") != "" {
		return fmt.Sprintf("-gencode=arch=compute_%s,code=%s", number, target)
	}
	return "-arch=" + target
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
	for _, a := range w.arguments() {
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
	var lines []string
	for i, l := range w.Kernel.Launches {
		text := fmt.Sprintf("Launch %s with %s.", l.Entry, l)
		if i > 0 {
			text = fmt.Sprintf("Then launch %s with %s.", l.Entry, l)
		}
		lines = append(lines, text)
	}
	lines = append(lines, fmt.Sprintf("%s at the end of the file does so.", w.launcherName()))
	if !slices.ContainsFunc(w.arguments(), func(a operator.Argument) bool { return a.Type != operator.F32 || a.Role == operator.Scalar }) {
		lines = append(lines, "All tensors are float32, dense and row-major, 16-byte aligned at least, and of these shapes:")
		for _, a := range w.arguments() {
			lines = append(lines, fmt.Sprintf("    %s (%s): %s", a.Name, a.Role, shapeOf(a)))
		}
		return lines
	}
	lines = append(lines, "All tensors are dense and row-major, 16-byte aligned at least, and of these types and shapes:")
	for _, a := range w.arguments() {
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
