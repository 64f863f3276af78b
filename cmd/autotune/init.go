package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/cudafile"
	"autotune/internal/input"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/operator/tree"
	"autotune/templates"
	"autotune/tuner/draft"
)

// firstOperator is an operator in one file that searches at once; NAME stands for
// its name.
//
//go:embed begin/operator.cu
var firstOperator string

func initCommand() *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a small operator of your own to start from",
		ArgsUsage: "NAME",
		Description: "Writes NAME.cu into this folder: one CUDA file whose first comment describes the operator. " +
			"It can be searched at once; change it into what you need. With --from it writes a folder NAME around an existing kernel.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "write the operator of the kernel in `FILE`.cu: its arguments, macros and template parameters are filled in"},
		},
		Action: initAction,
	}
}

func initAction(c *cli.Context) error {
	if c.NArg() != 1 {
		return errors.New("name one operator, as in: autotune init scale")
	}
	file := strings.TrimSuffix(c.Args().First(), ".cu") + ".cu"
	name := strings.TrimSuffix(filepath.Base(file), ".cu")
	if !tree.IsName(name) {
		return fmt.Errorf("%s cannot be an operator's name: use letters, digits and _, with no digit first", name)
	}
	if c.IsSet("from") {
		return initFrom(c, filepath.Join(filepath.Dir(file), name), name, c.String("from"))
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; choose another name, or remove it", file)
	}
	err := output.To(file, func(out io.Writer) error {
		_, err := io.WriteString(out, strings.ReplaceAll(firstOperator, "NAME", name))
		return err
	})
	if err != nil {
		return err
	}
	at := asPath(file)
	fmt.Fprintf(c.App.Writer, "wrote %s; try\n\n    autotune verify %s --shape 1000 --sanitize\n    autotune search %s --shape 1048576\n", file, at, at)
	return nil
}

// asPath is a path that commands do not take for the name of a built-in operator.
func asPath(path string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return "./" + path
	}
	return path
}

// initFrom writes a folder around an existing kernel.
func initFrom(c *cli.Context, folder, name, path string) error {
	files, err := kernelFiles(c, path)
	if err != nil {
		return err
	}
	source := filepath.Base(path)
	if err := draft.Foreign(files[source]); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	k, err := draft.Choose(files[source], name)
	for _, other := range slices.Sorted(maps.Keys(files)) {
		if len(cudafile.Kernels(files[source])) == 0 && len(cudafile.Kernels(files[other])) > 0 {
			return fmt.Errorf("%s defines no kernel; %s, which it includes, does: give that file", path, filepath.Join(filepath.Dir(path), other))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	text, left, err := draft.Cut(files[source], k.Name, func(name string) bool {
		_, err := fs.Stat(templates.FS, "include/"+name)
		return err == nil || files[filepath.ToSlash(filepath.Clean(name))] != ""
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if files[source] = text; left != nil {
		if k, err = draft.Choose(text, k.Name); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	o, err := draft.FromKernel(name, text, k)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	o.Template.Source = source
	if err := writeOperator(c, folder, o, files); err != nil {
		return err
	}
	if o.Unguarded {
		tell([]string{fmt.Sprintf("%s compares an index with no size: say in %s how many elements each tensor has, and how many blocks there are", k.Name, filepath.Join(folder, "op.yaml"))})
	}
	if left != nil {
		tell([]string{fmt.Sprintf("the operator has %s of %s; left are %s", k.Name, path, strings.Join(left, ", "))})
	}
	return nil
}

// kernelFiles are the kernel's file and those that it includes from its own folder, by
// the names that they are included under.
func kernelFiles(c *cli.Context, kernel string) (map[string]string, error) {
	folder, err := operator.OpenFolder(filepath.Dir(kernel))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	todo := []string{filepath.Base(kernel)}
	for len(todo) > 0 {
		name := filepath.ToSlash(filepath.Clean(todo[0]))
		todo = todo[1:]
		if _, known := files[name]; known {
			continue
		}
		text, err := "", error(nil)
		if len(files) == 0 { // the file that the command names may be a link
			text, err = input.File(c.Context, kernel, operator.ReadSource)
		} else if text, err = operator.ReadText(folder, name); errors.Is(err, fs.ErrNotExist) {
			continue // a shared file, or one that the loader misses and names with the line
		} else if err != nil {
			err = fmt.Errorf("%s %w", filepath.Join(filepath.Dir(kernel), name), err)
		}
		if err != nil {
			return nil, err
		}
		files[name] = text
		for _, included := range operator.Included(text) {
			if filepath.IsLocal(included) {
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
		return fmt.Errorf("%s is there already; choose another name, or remove it", folder)
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), ".operator-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if source := o.Template.Source; !operator.IsFileName(source) {
		o.Template.Source = o.Name + ".cu"
		files[o.Template.Source] = files[source]
		delete(files, source)
	}
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
	fsys, err := operator.OpenFolder(made)
	if err != nil {
		return err
	}
	op, err := operator.Load(fsys, ".")
	if err == nil {
		err = op.CheckSignatures()
	}
	if err != nil {
		return fmt.Errorf("what is known makes no operator: %w", err)
	}
	p, err := op.Bind(operator.Request{Shape: op.Example}, operator.TypicalLimits())
	if err != nil {
		return err
	}
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	if err := os.Rename(made, folder); err != nil {
		return err
	}
	at := asPath(folder)
	shape := operator.FormatShape(p.Shape)
	_, err = fmt.Fprintf(c.App.Writer, "wrote %s; try\n\n    autotune check %s\n    autotune search %s --shape %s\n", folder, at, at, shape)
	return err
}
