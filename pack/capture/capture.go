// Package capture learns from a running program which problems it has: which calls of PyTorch's
// functions operators can serve, how often they are made and what they take.
//
// A Watcher is a folder with a Python module, which Python loads in a program whose environment
// names it. Each process leaves a record there. Read makes what was Seen of them, and WriteProblems
// writes that as a problems file. Package main runs the program.
package capture

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"autotune/internal/scratch"
	"autotune/operator"
	"autotune/pack/packer"
)

// modules are the Python code that watches. It is installed beside the loaders of a pack without kernels,
// so that the code that would run a call tells its problem.
//
//go:embed all:python
var modules embed.FS

// The folders of a watcher. The first is the one that Python loads sitecustomize from.
const (
	siteFolder    = "site"
	recordsFolder = "records"
	packageName   = "autotune_capture"
	packageFolder = "python/" + packageName
)

// Watcher is what watches a program.
type Watcher struct {
	folder    *scratch.Folder
	operators map[string]*operator.Operator
}

// Open makes a watcher for calls that operators can serve. Close removes it.
func Open(tool string, operators []*operator.Operator) (*Watcher, error) {
	folder, err := scratch.New("capture")
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(folder.Dir, filepath.ListSeparator) {
		return nil, errors.Join(fmt.Errorf("%s cannot be in Python's path, since it has a `%c`; set TMPDIR to another folder", filepath.Dir(folder.Dir), filepath.ListSeparator), folder.Close())
	}
	w := &Watcher{folder, map[string]*operator.Operator{}}
	for _, o := range operators {
		w.operators[o.Name] = o
	}
	files, err := pythonFiles(tool, operators)
	if err == nil {
		err = write(w.folder.Dir, files)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(w.folder.Dir, recordsFolder), 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare to watch: %w", err)
	}
	return w, nil
}

// pythonFiles are the Python package that tells which problem of an operator a call of PyTorch is, and what loads it.
func pythonFiles(tool string, operators []*operator.Operator) (map[string][]byte, error) {
	files, err := packer.Described(packageName, tool, operators)
	if err != nil {
		return nil, err
	}
	entries, err := modules.ReadDir("python")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		folder := packageFolder
		if e.Name() == "sitecustomize.py" {
			folder = siteFolder
		}
		if files[folder+"/"+e.Name()], err = modules.ReadFile("python/" + e.Name()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func write(folder string, files map[string][]byte) error {
	for name, data := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Close removes the watcher's folder.
func (w *Watcher) Close() error { return w.folder.Close() }

// Environment is an environment in which Python programs are watched. The watcher's folder stands first in
// Python's path, and takes itself out once it is loaded. So programs import what they would without it.
func (w *Watcher) Environment(environment []string) []string {
	const name = "PYTHONPATH="
	path, changed := filepath.Join(w.folder.Dir, siteFolder), []string{}
	for _, variable := range environment {
		if before, is := strings.CutPrefix(variable, name); !is {
			changed = append(changed, variable)
		} else if before != "" {
			path += string(filepath.ListSeparator) + before
		}
	}
	return append(changed, name+path)
}
