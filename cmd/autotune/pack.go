package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
	"autotune/pack/packer"
	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/store"
	"autotune/tuner/winners"
)

func packCommand() *cli.Command {
	return &cli.Command{
		Name:      "pack",
		Usage:     "write winners as a pack, for programs in Python, C and Go that have no compiler; needs no GPU",
		ArgsUsage: "OUT [OPERATOR...]",
		Description: "OUT is a folder, or a file that ends with .zip. The winners are those that the cache keeps of the operators, or of all; " +
			"--from takes them from best-config documents.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "from", Usage: "instead of the cache take a best-config `FILE`, or a list of them; may be repeated"},
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
		base := filepath.Base(filepath.Clean(out))
		o.Name = regexp.MustCompile(`\W+|^[0-9]`).ReplaceAllString(strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))), "_")
	}
	if err := packer.Check(out, c.Bool("force")); err != nil {
		return badInput(err)
	}
	list, err := packedWinners(c)
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
	p, err := packer.Make(c.Context, compiler, list, o)
	if err != nil {
		return badInput(err)
	}
	tell(p.Notices)
	if err := p.Write(out); err != nil {
		return badInput(err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "wrote %s: %s and %s\n", out, output.Count(len(p.Entries), "tuned kernel"), output.Count(len(p.General), "general one"))
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

// packedWinners are the winners that the arguments and flags mean.
func packedWinners(c *cli.Context) ([]cudasource.Winner, error) {
	var operators []*operator.Operator
	for _, name := range c.Args().Tail() {
		op, err := findOperator(name)
		if err != nil {
			return nil, badInput(err)
		}
		operators = append(operators, op)
	}
	if c.IsSet("from") {
		return winnersInDocuments(c, operators)
	}
	if len(operators) == 0 {
		var err error
		if operators, err = operator.Operators(); err != nil {
			return nil, err
		}
	}
	s, err := openStore(c, store.Options{ReadOnly: true, Wait: 5 * time.Second})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var all []cudasource.Winner
	for _, op := range operators {
		kept, err := winners.List(s, op.Name)
		if err != nil {
			return nil, err
		}
		for _, k := range kept {
			w, ok, err := packedWinner(c, op, k)
			if err != nil {
				return nil, err
			}
			if ok {
				all = append(all, w)
			}
		}
	}
	if len(all) == 0 {
		const message = "the cache holds no winner to pack; run `autotune search` first, or name architectures with --arch for those of the emulator"
		return nil, &winners.NoneError{Message: message}
	}
	return all, nil
}

// packedWinner is a winner that the cache keeps, if it is one to pack: by time, under the
// usual conditions, and of a GPU unless architectures are named.
func packedWinner(c *cli.Context, op *operator.Operator, k winners.Kept) (cudasource.Winner, bool, error) {
	measured := k.Device.Kind.Properties().Caveat == ""
	meant := winners.Request{Device: c.String("device")}.Means(k.Device)
	if !meant || k.Objective != "" || k.Protocol.Conditions != (device.Conditions{}) || !measured && len(archsOf(c)) == 0 {
		return cudasource.Winner{}, false, nil
	}
	w, err := cudasource.Of(reports.FromRecord(k.Record), op, winners.LimitsOf(k.Device), tool())
	if errors.Is(err, cudasource.ErrSearchAgain) {
		tell([]string{fmt.Sprintf("left out %s: %v", k.Problem.Text, err)})
		return w, false, nil
	}
	return w, err == nil, err
}

// winnersInDocuments reads the files of --from. Operators that are not built in are found
// among the arguments.
func winnersInDocuments(c *cli.Context, operators []*operator.Operator) ([]cudasource.Winner, error) {
	var all []cudasource.Winner
	for _, path := range c.StringSlice("from") {
		documents, err := readBests(c.Context, path)
		if err != nil {
			return nil, badInput(err)
		}
		for _, best := range documents {
			i := slices.IndexFunc(operators, func(op *operator.Operator) bool { return op.Name == best.Operator })
			var op *operator.Operator
			switch {
			case i >= 0:
				op = operators[i]
			case len(operators) > 0:
				continue
			default:
				if op, err = findOperator(best.Operator); err != nil {
					return nil, badInput(err)
				}
			}
			w, err := cudasource.Of(best, op, operator.TypicalLimits(), tool())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, w)
		}
	}
	return all, nil
}
