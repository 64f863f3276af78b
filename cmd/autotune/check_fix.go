package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/tuner/operator"
)

// fixOperator rewrites what an operator's files say in words of the version before. All of it is
// made before any of it is written.
func fixOperator(c *cli.Context, op *operator.Operator) error {
	folder := c.Args().First()
	if len(op.Outdated) == 0 {
		_, err := fmt.Fprintln(c.App.Writer, "nothing to rewrite in "+folder)
		return err
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return badInput(fmt.Errorf("%s is no folder with an op.yaml, and only such files are rewritten; by hand: %s", folder, op.Outdated[0]))
	}
	byFile, files := map[string][]operator.Outdated{}, []string(nil)
	for _, d := range op.Outdated {
		path := filepath.Join(folder, d.File)
		if byFile[path] == nil {
			files = append(files, path)
		}
		byFile[path] = append(byFile[path], d)
	}
	renewed := map[string]string{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return badInput(fmt.Errorf("%s cannot be rewritten: %w", path, err))
		}
		if renewed[path], err = operator.Renewed(string(text), byFile[path]); err != nil {
			return badInput(fmt.Errorf("%s is left as it is: %w", path, err))
		}
	}
	for _, path := range files {
		if err := output.To(path, func(out io.Writer) error { _, err := io.WriteString(out, renewed[path]); return err }); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%s: %s\n", path, output.Count(len(byFile[path]), "key")); err != nil {
			return err
		}
	}
	return nil
}
