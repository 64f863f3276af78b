package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/operator"
	"autotune/operator/tree"
	"autotune/tuner/draft"
)

// firstOperator is the source of an operator that can be searched at once. `autotune init` replaces the word NAME in
// firstOperator.
//
//go:embed begin/operator.cu
var firstOperator string

func initCommand() *cli.Command {
	var from string
	return command("init NAME", "write a small operator of your own to start from",
		"Writes NAME.cu into this folder: one CUDA file whose first comment describes the operator. It can be "+
			"searched at once; change it into what you need. With --from it writes a folder NAME around an existing kernel.",
		func(ctx context.Context, l line) error { return initOperator(ctx, l, from) },
		textFlag(&from, "from", "", "write the operator of the kernel in `FILE`.cu, with its arguments and macros"))
}

func initOperator(ctx context.Context, l line, from string) error {
	if len(l.arguments) != 1 {
		return errors.New("name one operator, as in: autotune init scale")
	}
	file := strings.TrimSuffix(l.first(), ".cu") + ".cu"
	name := strings.TrimSuffix(filepath.Base(file), ".cu")
	if !tree.IsName(name) {
		return fmt.Errorf("%s cannot be an operator's name: use letters, digits and _, with no digit first", name)
	}
	if l.given("from") {
		folder := filepath.Join(filepath.Dir(file), name)
		example, notes, err := draft.Folder(ctx, folder, name, from)
		if err != nil {
			return err
		}
		at := asPath(folder)
		fmt.Fprintf(stdout, "wrote %s; try\n\n    autotune check %s\n    autotune search %s --shape %s\n", folder, at, at,
			operator.FormatShape(example))
		tellAll(notes)
		return nil
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already; choose another name, or remove it", file)
	}
	err := output.To(file, func(out io.Writer) error {
		_, err := io.WriteString(out, strings.ReplaceAll(firstOperator, "NAME", name))
		return err
	})
	if err == nil {
		at := asPath(file)
		fmt.Fprintf(stdout, "wrote %s; try\n\n    autotune verify %s --shape 1000 --sanitize\n    autotune search %s "+
			"--shape 1048576\n", file, at, at)
	}
	return err
}

// asPath adds "./" to a path that commands would take for the name of a built-in operator.
func asPath(path string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return "./" + path
	}
	return path
}
