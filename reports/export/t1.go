package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"autotune/internal/output"
	"autotune/internal/quote"
	"autotune/reports/cudasource"
	"autotune/tuner/operator"
	"autotune/tuner/t1"
)

var t1Document = Format{Name: "t1", Summary: "the winner's template as a T1 document, with its kernel's file beside it", Write: writeT1}

func writeT1(ctx context.Context, out io.Writer, w Winner) ([]string, error) {
	k, err := w.Kernel()
	if err != nil {
		return nil, err
	}
	if w.Path == output.Standard {
		return nil, errors.New("--format t1 writes two files, the document and its kernel: name the first, as in -o kernel.json")
	}
	// The space is that of the device that the winner is of.
	p := k.Problem
	if w.Best.Device.Limits.Arch != 0 {
		if p, err = p.Operator.Bind(p.Record().Request(), w.Best.Device.Limits); err != nil {
			return nil, err
		}
	}
	s, err := p.Space(ctx)
	if err != nil {
		return nil, err
	}
	template, known := p.Operator.Template(k.Kernel.Template)
	part, ok := t1.PartOf(s, k.Kernel.Template)
	if !known || !ok {
		return nil, fmt.Errorf("template %s does not serve %s", k.Kernel.Template, p)
	}
	file := strings.TrimSuffix(filepath.Base(w.Path), filepath.Ext(w.Path)) + ".cu"
	x, err := t1.Of(p, template, part, file)
	if err != nil {
		return nil, err
	}
	text, err := cudasource.Inline(k.Kernel.File, k.Kernel.Source, k.Kernel.Includes, x.Macros)
	if err != nil {
		return nil, err
	}
	beside := filepath.Join(filepath.Dir(w.Path), file)
	opening := "// " + quote.CLine("Written by autotune: the kernel of "+filepath.Base(w.Path)+".")
	if !w.Force && !begins(beside, opening) {
		return nil, fmt.Errorf("%s, the kernel's file, is there already and is no kernel of %s; name another document, or add --force", beside, filepath.Base(w.Path))
	}
	err = output.To(beside, func(out io.Writer) error {
		_, err := fmt.Fprintf(out, "%s\n// %s\n%s\n%s", opening, quote.CLine(fmt.Sprintf("%s, template %s, for %s.", p.Operator.Name, template.Name, p)), defined(x.Macros), text)
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(x.Notes, otherTemplates(p.Operator, template)...), x.Document.WriteJSON(out)
}

// begins tells whether a file begins with a line, or is not there.
func begins(path, line string) bool {
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	head := make([]byte, len(line))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == line
}

// defined are macros under #ifndef.
func defined(macros []operator.Macro) string {
	var b strings.Builder
	for _, m := range macros {
		fmt.Fprintf(&b, "#ifndef %s\n#define %s %s\n#endif\n", m.Name, m.Name, m.Value)
	}
	return b.String()
}
