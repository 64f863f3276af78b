package capture

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"autotune/internal/python"
	"autotune/internal/worker"
	"autotune/operator"
)

// runPython runs the main function of a module of this package's Python code, in the user's python3, with the words on its
// command line. The folder takes the code. The error is an *ExportError where the program ended with a fault.
func runPython(ctx context.Context, folder, tool string, operators []*operator.Operator, module string, words ...string) error {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return python.ErrMissing
	}
	files, err := pythonFiles(tool, operators)
	if err == nil {
		err = write(folder, files)
	}
	if err != nil {
		return fmt.Errorf("prepare to run Python: %w", err)
	}
	said := &worker.Output{}
	command := exec.CommandContext(ctx, interpreter, append([]string{"-c", running, filepath.Join(folder, "python"), module}, words...)...)
	command.Stdout, command.Stderr = said, said
	worker.OwnGroup(command)
	err = command.Run()
	worker.EndGroup(command)
	switch exit := (*exec.ExitError)(nil); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &exit):
		return &ExportError{"python3", said.String()}
	case err != nil:
		return fmt.Errorf("start python3: %w", err)
	}
	return nil
}

// running runs a module's main function. Python's path is as the user has it once the modules are loaded.
const running = `import importlib, sys
sys.path.insert(0, sys.argv[1])
module = importlib.import_module("` + packageName + `." + sys.argv[2])
del sys.path[0], sys.argv[1:3]
module.main()`
