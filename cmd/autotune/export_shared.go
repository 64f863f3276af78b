package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/reports/cudasource"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
	"autotune/tuner/t1"
)

// exportT1 writes the winner's template as a T1 document, and its kernel's file beside
// the document's.
func exportT1(c *cli.Context, out io.Writer, w chosen, k cudasource.Winner) ([]string, error) {
	path := c.String("output")
	if path == output.Standard {
		return nil, errors.New("--format t1 writes two files, the document and its kernel: name the first, as in -o kernel.json")
	}
	// The space is that of the device that the winner is of.
	p, err := k.Problem.Operator.Bind(k.Problem.Record().Request(), limitsOf(w.best.Device))
	if err != nil {
		return nil, err
	}
	s, err := p.Space(c.Context)
	if err != nil {
		return nil, err
	}
	template, known := p.Operator.Template(k.Kernel.Template)
	part, ok := t1.PartOf(s, k.Kernel.Template)
	if !known || !ok {
		return nil, fmt.Errorf("template %s does not serve %s", k.Kernel.Template, p)
	}
	file := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".cu"
	x, err := t1.Of(p, template, part, file)
	if err != nil {
		return nil, err
	}
	text, err := cudasource.Inline(k.Kernel.File, k.Kernel.Source, k.Kernel.Includes, x.Macros)
	if err != nil {
		return nil, err
	}
	err = output.To(filepath.Join(filepath.Dir(path), file), func(out io.Writer) error {
		_, err := fmt.Fprintf(out, "// %s, template %s, for %s: the kernel of %s.\n%s\n%s", p.Operator.Name, template.Name, p, filepath.Base(path), defined(x.Macros), text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(x.Notes, otherTemplates(p, template)...), x.Document.WriteJSON(out)
}

// defined are macros under #ifndef.
func defined(macros []operator.Macro) string {
	var b strings.Builder
	for _, m := range macros {
		fmt.Fprintf(&b, "#ifndef %s\n#define %s %s\n#endif\n", m.Name, m.Name, m.Value)
	}
	return b.String()
}

// otherTemplates says what a format of one kernel leaves out.
func otherTemplates(p *operator.Problem, kept *operator.Template) []string {
	var notes []string
	for _, t := range p.Operator.Templates {
		if t != kept {
			notes = append(notes, fmt.Sprintf("template %s is left out: the format describes one kernel, and the winner's is %s", t.Name, kept.Name))
		}
	}
	return notes
}

// exportKernelTuner writes the trials of the winner's template.
func exportKernelTuner(_ *cli.Context, out io.Writer, w chosen, k cudasource.Winner) ([]string, error) {
	template, ok := k.Problem.Operator.Template(k.Kernel.Template)
	if !ok {
		return nil, fmt.Errorf("%s has no template %s", k.Problem.Operator.Name, k.Kernel.Template)
	}
	return otherTemplates(k.Problem, template), recording.WriteKernelTuner(out, k.Problem, template, w.best.Device.Name, w.trials)
}
