package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device/compile"
	"autotune/internal/output"
	"autotune/pack/packer"
)

func packCommand() *cli.Command {
	return &cli.Command{
		Name:      "pack",
		Usage:     "write winners and families as a pack, for programs in Python, C and Go that have no compiler; needs no GPU",
		ArgsUsage: "OUT [OPERATOR...]",
		Description: "OUT is a folder, or a file that ends with .zip. Packed are the winners and families that the cache keeps of the operators, or of all; " +
			"--from takes them from documents.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "from", Usage: "instead of the cache take a `FILE` with best-config documents or families; may be repeated"},
			&cli.StringFlag{Name: "arch", Usage: "architectures to compile for, `LIST` with commas, as sm_80,sm_90a; \"\": those that the winners were compiled for"},
			&cli.StringFlag{Name: "name", Usage: "of the Python package and of C's tables; \"\": that of OUT"},
			&cli.BoolFlag{Name: "torch-stable-abi", Usage: "also build a library that makes calls from PyTorch cheaper, by g++ and the PyTorch (2.10 or newer) of python3"},
			whoseFlag("winners"), cacheFlag(), forceFlag(),
		},
		Action: packAction,
	}
}

func packAction(c *cli.Context) error {
	out := c.Args().First()
	if out == "" {
		return badInput(errors.New("where to? `autotune pack OUT` writes a folder, or a file that ends with .zip"))
	}
	for _, path := range c.StringSlice("from") {
		if within(path, out) {
			return badInput(fmt.Errorf("%s would replace %s, which this command reads; name another", out, path))
		}
	}
	o := packer.Options{Name: c.String("name"), Tool: tool(), Archs: archsOf(c)}
	if o.Name == "" {
		o.Name = packer.NameOf(out)
	}
	if err := packer.Check(out, c.Bool("force")); err != nil {
		return badInput(err)
	}
	found, err := packInputs(c)
	if err != nil {
		return err
	}
	if c.Bool("torch-stable-abi") {
		if o.Native, err = packer.BuildNative(c.Context); err != nil {
			return badInput(fmt.Errorf("--torch-stable-abi: %w", err))
		}
	}
	compiler, err := compile.NVRTC(c.Context)
	if err != nil {
		return err
	}
	defer compiler.Close()
	said := await(c, "compiling a pack's kernels")
	p, err := packer.Make(c.Context, &counted{Compiler: compiler, said: said}, found.winners, found.families, o)
	said.done()
	if err != nil {
		return badInput(err)
	}
	tell(p.Notices)
	if err := p.Write(out); err != nil {
		return badInput(err)
	}
	families := ""
	if len(p.Families) > 0 {
		families = ", " + output.Count(len(p.Families), "family")
	}
	_, err = fmt.Fprintf(c.App.Writer, "wrote %s: %s%s and %s\n", out, output.Count(len(p.Entries), "tuned kernel"), families, output.Count(len(p.General), "general one"))
	return err
}

// within tells whether a path is that of a file or folder, or of something in it.
func within(path, folder string) bool {
	path, err := filepath.Abs(path)
	folder, err2 := filepath.Abs(folder)
	return err == nil && err2 == nil && (path == folder || strings.HasPrefix(path, folder+string(filepath.Separator)))
}

func archsOf(c *cli.Context) []string {
	return strings.FieldsFunc(c.String("arch"), func(r rune) bool { return r == ',' || r == ' ' })
}
