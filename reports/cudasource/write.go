package cudasource

import (
	"fmt"
	"io"
	"strings"

	"autotune/tuner/operator"
)

// WriteCUDA writes the kernel as one .cu file.
func (w Winner) WriteCUDA(out io.Writer) error {
	text, err := Inline(w.Kernel.File, w.Kernel.Source, w.Kernel.Includes)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, line := range w.Story() {
		b.WriteString("// " + line + "\n")
	}
	b.WriteString("//\n")
	for _, line := range w.launching() {
		b.WriteString("// " + line + "\n")
	}
	b.WriteString("\n" + Defines(w.Kernel.Macros) + "\n" + text)
	_, err = io.WriteString(out, b.String())
	return err
}

// launching says how to launch the kernel.
func (w Winner) launching() []string {
	l := w.Kernel.Launch
	var arguments []string
	lines := []string{
		fmt.Sprintf("Launch %s with grid %s, block %s and %d bytes of dynamic shared memory.", w.Kernel.Entry, extent(l.Grid), extent(l.Block), l.SharedBytes),
		"All tensors are float32, dense and row-major, 16-byte aligned at least, and of these shapes:",
	}
	for _, t := range w.Problem.Tensors {
		arguments = append(arguments, t.Name)
		shape := operator.FormatShape(t.Shape)
		if t.Elements == 0 {
			shape = "a null pointer"
		}
		lines = append(lines, fmt.Sprintf("    %s (%s): %s", t.Name, t.Role, shape))
	}
	if l.SharedBytes > 48<<10 {
		lines = append(lines, "More than 48 KB of dynamic shared memory must be allowed once, before the first launch:",
			fmt.Sprintf("    cudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %d);", w.Kernel.Entry, l.SharedBytes))
	}
	return append(lines, "The launch:", fmt.Sprintf("    %s<<<%s, %s, %d, stream>>>(%s);",
		w.Kernel.Entry, Dim3(l.Grid), Dim3(l.Block), l.SharedBytes, strings.Join(arguments, ", ")))
}

func extent(e [3]int64) string { return operator.FormatShape(e[:]) }

// Dim3 writes an extent as CUDA C++ reads it.
func Dim3(e [3]int64) string { return fmt.Sprintf("dim3(%d, %d, %d)", e[0], e[1], e[2]) }
