package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"autotune/internal/output"
	"autotune/internal/python"
	"autotune/internal/scratch"
	"autotune/internal/worker"
	"autotune/operator"
	"autotune/program"
)

// ExportError is a program that Python could not export or run.
type ExportError struct {
	File string
	Said string // what Python printed: one line, or a traceback where the program is to blame
}

func (e *ExportError) Error() string {
	lines := strings.Split(strings.TrimSpace(e.Said), "\n")
	return e.File + ": " + output.Line(strings.TrimPrefix(lines[len(lines)-1], e.File+": "))
}

// Graph reads the graph of a Python file that has a class Model and the functions get_inputs and get_init_inputs.
// The user's python3 exports it. The error is an *ExportError where the file is to blame.
func Graph(ctx context.Context, tool string, operators []*operator.Operator, file string) (*program.Graph, error) {
	answer, err := runModule(ctx, tool, operators, "graph", file)
	if err != nil {
		return nil, err
	}
	return program.Read(bytes.NewReader(answer))
}

// runModule runs the main function of a module of this package's Python code in the user's python3, and returns the file
// that it writes. The function's arguments are the user's program, the file to write, and the words. The error is an
// *ExportError where the user's program ended Python.
func runModule(
	ctx context.Context, tool string, operators []*operator.Operator, module, file string, words ...string,
) (_ []byte, err error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil, python.ErrMissing
	}
	folder, err := scratch.New(module)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	files, err := pythonFiles(tool, operators)
	if err == nil {
		err = write(folder.Dir, files)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare to run Python: %w", err)
	}
	answer, said := filepath.Join(folder.Dir, "answer.json"), &worker.Output{}
	words = slices.Concat([]string{"-c", running, filepath.Join(folder.Dir, "python"), module, file, answer}, words)
	command := exec.CommandContext(ctx, interpreter, words...)
	command.Stdout, command.Stderr = said, said
	worker.OwnGroup(command)
	err = command.Run()
	worker.EndGroup(command)
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return nil, &ExportError{file, said.String()}
	case err != nil:
		return nil, fmt.Errorf("start python3: %w", err)
	}
	return os.ReadFile(answer)
}

// running is the program that runs a module. Python's path is as the user has it once the modules are loaded.
const running = `import importlib, sys
sys.path.insert(0, sys.argv[1])
module = importlib.import_module("` + packageName + `." + sys.argv[2])
del sys.path[0]
module.main(*sys.argv[3:])`
