package main

import (
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
	"autotune/tuner/operator"
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
			"It can be searched at once; change it into what you need. With --from it writes a folder NAME around a kernel that there is.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "write the operator of the kernel in `FILE`.cu: its arguments, macros and template parameters are filled in"},
		},
		Action: initAction,
	}
}

func initAction(c *cli.Context) error {
	if c.NArg() != 1 {
		return badInput(errors.New("name one operator, as in: autotune init scale"))
	}
	file := strings.TrimSuffix(c.Args().First(), ".cu") + ".cu"
	name := strings.TrimSuffix(filepath.Base(file), ".cu")
	if !operator.IsName(name) {
		return badInput(fmt.Errorf("%s is no name for an operator: letters, digits and _, not starting with a digit", name))
	}
	if c.IsSet("from") {
		return badInput(initFrom(c, filepath.Join(filepath.Dir(file), name), name, c.String("from")))
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return badInput(fmt.Errorf("%s is there already; choose another name, or remove it", file))
	}
	err := output.To(file, func(out io.Writer) error {
		_, err := io.WriteString(out, strings.ReplaceAll(firstOperator, "NAME", name))
		return err
	})
	if err != nil {
		return badInput(err)
	}
	at := file
	if !strings.ContainsRune(at, filepath.Separator) {
		at = "./" + at
	}
	fmt.Fprintf(c.App.Writer, "wrote %s; try\n\n    autotune verify %s --shape 1000 --sanitize\n    autotune search %s --shape 1048576\n", file, at, at)
	return nil
}
