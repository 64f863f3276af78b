package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/input"
	"autotune/operator"
	"autotune/templates"
)

// Folder creates an operator's folder with the kernel's file and a draft of op.yaml. The notes that Folder returns tell
// the user what to check or to add.
func Folder(ctx context.Context, folder, name, path string) (example []int64, notes []string, err error) {
	files, err := kernelFiles(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	o, left, err := fromFiles(name, path, files)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if example, err = write(folder, o, files); err != nil {
		return nil, nil, err
	}
	if o.Unguarded {
		notes = append(notes, fmt.Sprintf("%s compares an index with no size: say in %s how many elements each tensor has, "+
			"and how many blocks there are",
			o.Kernel, filepath.Join(folder, "op.yaml")))
	}
	if left != nil {
		notes = append(notes, fmt.Sprintf("the operator has %s of %s; left are %s", o.Kernel, path, strings.Join(left, ", ")))
	}
	return example, notes, nil
}

// fromFiles drafts an operator from the files of a kernel, and may cut parts of the kernel's source. The result `left`
// lists the parts of the source that fromFiles cut.
func fromFiles(name, path string, files map[string]string) (o Operator, left []string, err error) {
	source := filepath.Base(path)
	k, err := Choose(files[source], name)
	for _, other := range slices.Sorted(maps.Keys(files)) {
		if len(cudafile.Kernels(files[source])) == 0 && len(cudafile.Kernels(files[other])) > 0 {
			return o, nil, fmt.Errorf("it defines no kernel; %s, which it includes, does: give that file",
				filepath.Join(filepath.Dir(path), other))
		}
	}
	if err != nil {
		return o, nil, err
	}
	text, left, err := Cut(files[source], k.Name, func(name string) bool {
		_, err := fs.Stat(templates.FS, "include/"+name)
		return err == nil || files[filepath.ToSlash(filepath.Clean(name))] != ""
	})
	if err != nil {
		return o, nil, err
	}
	if files[source] = text; left != nil {
		if k, err = Choose(text, k.Name); err != nil {
			return o, nil, err
		}
	}
	o, err = FromKernel(name, text, k)
	o.Source = source
	return o, left, err
}

// kernelFiles reads the kernel's file and the files that it includes from its own folder. The keys of the map `files`
// are the names that #include lines use.
func kernelFiles(ctx context.Context, kernel string) (map[string]string, error) {
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
		if len(files) == 0 { // the kernel's own file may be a symbolic link
			text, err = input.File(ctx, kernel, operator.ReadSource)
		} else if text, err = operator.ReadText(folder, name); errors.Is(err, fs.ErrNotExist) {
			continue // a shared file, or a missing one that the loader will report
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

func write(folder string, o Operator, files map[string]string) (example []int64, err error) {
	if _, err := os.Lstat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is there already; choose another name, or remove it", folder)
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), ".operator-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(made)
	if source := o.Source; !operator.IsFileName(source) {
		o.Source = o.Name + ".cu"
		files[o.Source] = files[source]
		delete(files, source)
	}
	files["op.yaml"] = o.YAML()
	for name, text := range files {
		path := filepath.Join(made, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if example, err = loads(made); err != nil {
		return nil, err
	}
	if err := os.Chmod(made, 0o755); err != nil {
		return nil, err
	}
	return example, os.Rename(made, folder)
}

func loads(folder string) ([]int64, error) {
	fsys, err := operator.OpenFolder(folder)
	if err != nil {
		return nil, err
	}
	op, err := operator.Load(fsys, ".")
	if err == nil {
		err = op.CheckSignatures()
	}
	if err != nil {
		return nil, fmt.Errorf("what is known makes no operator: %w", err)
	}
	p, err := op.Bind(operator.Request{Shape: op.Example}, operator.TypicalLimits())
	if err != nil {
		return nil, err
	}
	return p.Shape, nil
}
