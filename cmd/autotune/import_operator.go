package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/tuner/t1"
)

// importOperator makes an operator's folder of a T1 document.
func importOperator(c *cli.Context, path string) error {
	if c.NArg() > 1 || c.IsSet("shape") || c.IsSet("set") || c.IsSet("math") || c.IsSet("template") {
		return errors.New("a T1 document describes an operator of its own: no OPERATOR, --shape, --set, --math or --template goes with it")
	}
	document, err := input.File(c.Context, path, t1.Read)
	if err != nil {
		return err
	}
	kernel, err := kernelFile(path, document.KernelFile)
	if err != nil {
		return err
	}
	files, err := kernelFiles(c, kernel)
	if err != nil {
		return err
	}
	source := filepath.Base(kernel)
	o, notes, err := document.Operator(c.Context, files[source])
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	o.Head = []string{"From the T1 document " + filepath.Base(path) + "."}
	o.Template.Source = source
	folder := c.String("output")
	if folder == "" {
		folder = o.Name
	}
	if err := writeOperator(c, folder, o, files); err != nil {
		return err
	}
	tell(notes)
	return nil
}

// kernelFile finds the file that a document names: beside it, or in the folder above.
func kernelFile(document, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s: KernelFile is %q; it must lie below the document's folder", document, name)
	}
	folder := filepath.Dir(document)
	beside := filepath.Join(folder, name)
	for _, path := range []string{beside, filepath.Join(folder, "..", name)} {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: there is no %s, the KernelFile", document, beside)
}
