// Package capture finds out which calls of PyTorch functions in a running program are problems that operators can
// serve, how often the program makes each call, and how long the calls take.
//
// A Watcher is a folder with a Python module that watches programs. A Python program loads the Watcher's module if its
// environment was made by Watcher.Environment, and each process leaves a record in the folder. Watcher.Read combines
// the records into a Seen, which WriteProblems writes as a problems file. The command `autotune capture` runs the
// watched program.
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

// modules is the Python code that watches a program. A Watcher installs modules beside the Python loaders of a pack
// without kernels, which find the problem of each call.
//
//go:embed all:python
var modules embed.FS

// siteFolder and recordsFolder lie in a watcher's folder; Python loads sitecustomize.py from siteFolder.
const (
	siteFolder    = "site"
	recordsFolder = "records"
	packageName   = "autotune_capture"
	packageFolder = "python/" + packageName
)

// Watcher is a temporary folder with the Python code that watches a program and the records that the code writes.
type Watcher struct {
	folder    *scratch.Folder
	operators map[string]*operator.Operator
}

// Open makes a watcher for the calls that the given operators can serve. Close removes the watcher's folder.
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

// pythonFiles returns a Python package that maps calls of PyTorch to problems of operators, and the file
// sitecustomize.py that loads the package.
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

// Environment returns the environment of a program that is to be watched. The watcher's folder comes first in
// PYTHONPATH. The module in the watcher's folder removes the folder from Python's path, so that programs import the
// same modules as when they are not watched.
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
