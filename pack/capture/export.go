package capture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"autotune/internal/output"
	"autotune/internal/python"
	"autotune/internal/scratch"
	"autotune/internal/worker"
	"autotune/operator"
	"autotune/program"
)

// ExportError is a program of which no graph could be made.
type ExportError struct {
	File string
	Said string // what Python printed: one line, or a traceback where the program is to blame
}

func (e *ExportError) Error() string {
	lines := strings.Split(strings.TrimSpace(e.Said), "\n")
	return e.File + " has no graph: " + output.Line(strings.TrimPrefix(lines[len(lines)-1], e.File+": "))
}

// Graph reads the graph of a Python file that has a class Model and the functions get_inputs and get_init_inputs.
// The user's python3 exports it. The error is an *ExportError where the file is to blame.
func Graph(
	ctx context.Context, tool string, operators []*operator.Operator, file string,
) (_ *program.Graph, err error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil, python.ErrMissing
	}
	folder, err := scratch.New("graph")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	files, err := pythonFiles(tool, operators)
	if err == nil {
		err = write(folder.Dir, files)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare to export: %w", err)
	}
	made, said := filepath.Join(folder.Dir, "graph.json"), &worker.Output{}
	command := exec.CommandContext(ctx, interpreter, "-c", exporting, filepath.Join(folder.Dir, "python"), file, made)
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
	f, err := os.Open(made)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return program.Read(f)
}

// exporting is the program that exports. Python's path is as the user has it once the modules are loaded.
const exporting = `import sys
sys.path.insert(0, sys.argv[1])
from ` + packageName + `.graph import main
del sys.path[0]
main(*sys.argv[2:])`
