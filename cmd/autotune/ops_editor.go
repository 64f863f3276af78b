package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/tuner/operator"
)

// opsEditorCommand writes what clangd, and editors that ask it, read kernels with.
func opsEditorCommand() *cli.Command {
	return &cli.Command{
		Name:      "editor",
		Usage:     "compile commands that let an editor read the kernels of operators",
		ArgsUsage: "FOLDER...",
		Description: "Prints a compile_commands.json: for each CUDA file the macros of its template's default, for the operator's example. " +
			"Kernels take their sizes and tunables from macros, so an editor needs values to show one as a compiler sees it. " +
			"Put the file into the folder, or into one above it.",
		Action: opsEditorAction,
	}
}

// compileCommand is an item of a compile_commands.json.
type compileCommand struct {
	Directory string   `json:"directory"`
	File      string   `json:"file"`
	Arguments []string `json:"arguments"`
}

func opsEditorAction(c *cli.Context) error {
	if c.NArg() == 0 {
		return badInput(fmt.Errorf("which folder? Name one with an op.yaml, as in: %s", example(c.Command.HelpName)))
	}
	commands := []compileCommand{}
	for _, name := range c.Args().Slice() {
		more, err := compileCommands(name)
		if err != nil {
			return badInput(err)
		}
		commands = append(commands, more...)
	}
	return printJSON(c.App.Writer, commands)
}

// compileCommands are those of an operator's files, which lie in its folder or in a folder `include`
// beside it.
func compileCommands(name string) ([]compileCommand, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("no folder %s: an editor reads files, so name the folder that they are in", name)
	}
	op, err := findOperator(name)
	if err != nil {
		return nil, err
	}
	kernels, err := op.EditorKernels()
	if err != nil {
		return nil, err
	}
	folder := name
	if !info.IsDir() {
		folder = filepath.Dir(name)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	shared := filepath.Join(filepath.Dir(folder), "include")
	var commands []compileCommand
	for _, k := range kernels {
		file := filepath.Join(folder, k.File)
		if _, err := os.Stat(file); err != nil {
			file = filepath.Join(shared, k.File)
		}
		commands = append(commands, compileCommand{folder, file, arguments(k, file, folder, shared)})
	}
	return commands, nil
}

// arguments are clang's for one kernel.
func arguments(k operator.Kernel, file string, folders ...string) []string {
	all := []string{"clang++", "-xcuda", "--cuda-gpu-arch=sm_90a", "--cuda-device-only", "-std=c++17"}
	for _, folder := range folders {
		all = append(all, "-I"+folder)
	}
	for _, m := range k.Macros {
		all = append(all, "-D"+m.Name+"="+m.Value)
	}
	return append(all, "-c", file)
}
