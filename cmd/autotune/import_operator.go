package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/tuner/device/emulator"
	"autotune/tuner/draft"
	"autotune/tuner/operator"
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
	leaveOut(c, notes)
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

// kernelFiles are the kernel's file and those that it includes from its own folder, by
// the names that they are included under.
func kernelFiles(c *cli.Context, kernel string) (map[string]string, error) {
	files := map[string]string{}
	todo := []string{filepath.Base(kernel)}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if _, known := files[name]; known {
			continue
		}
		text, err := input.File(c.Context, filepath.Join(filepath.Dir(kernel), name), operator.ReadSource)
		if errors.Is(err, fs.ErrNotExist) && len(files) > 0 {
			continue // a shared file, or one that the loader misses and names with the line
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
		for line := range strings.Lines(text) {
			if included, ok := operator.Included(line); ok && filepath.IsLocal(included) {
				todo = append(todo, included)
			}
		}
	}
	return files, nil
}

// writeOperator writes an operator's folder. It appears when it is whole and loads.
func writeOperator(c *cli.Context, folder string, o draft.Operator, files map[string]string) error {
	folder = filepath.Clean(folder)
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; name another folder with -o, or remove it", folder)
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), ".operator-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	files["op.yaml"] = o.YAML()
	for name, text := range files {
		path := filepath.Join(made, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	op, err := operator.Load(os.DirFS(made), ".")
	if err != nil {
		return fmt.Errorf("what the document says makes no operator: %w", err)
	}
	if err := op.CheckSignatures(); err != nil {
		return fmt.Errorf("what the document says makes no operator: %w", err)
	}
	p, err := op.Bind(operator.Request{Shape: op.Example}, emulator.Limits())
	if err != nil {
		return err
	}
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	if err := os.Rename(made, folder); err != nil {
		return err
	}
	at := folder
	if !strings.ContainsRune(at, filepath.Separator) {
		at = "./" + at
	}
	shape := operator.FormatShape(p.Shape)
	_, err = fmt.Fprintf(c.App.Writer, "wrote %s; try\n\n    autotune check %s\n    autotune search %s --shape %s\n", folder, at, at, shape)
	return err
}
