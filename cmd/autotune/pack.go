package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/compile"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/pack"
	"autotune/pack/packer"
	"autotune/pack/prove"
	"autotune/tuner/devices"
)

type packFlags struct {
	from                      []string
	arch, name, device, cache string
}

func packCommand() *cli.Command {
	var f packFlags
	return command("pack OUT [OPERATOR...]",
		"write winners and families as a pack, for programs in Python, C and Go that have no compiler; needs no GPU",
		"OUT is a folder. Packed are the winners and families that the cache "+
			"keeps of the operators, or of all; --from takes them from documents.",
		f.pack,
		listFlag(&f.from, "from", "take a `FILE` with best-config documents or families, not the cache; may be repeated"),
		textFlag(&f.arch, "arch", "", "architectures, `LIST` with commas, as sm_80,sm_90a; \"\": the winners' own"),
		textFlag(&f.name, "name", "", "of the Python package and of C's tables; \"\": that of OUT"),
		whoseFlag(&f.device, "winners"),
		cacheFlag(&f.cache))
}

func (f *packFlags) pack(ctx context.Context, l line) error {
	out := l.first()
	if out == "" {
		return errors.New("where to? `autotune pack OUT` writes a folder")
	}
	for _, path := range f.from {
		if within(path, out) {
			return fmt.Errorf("%s would replace %s, which this command reads; name another", out, path)
		}
	}
	o := packer.Options{Name: f.name, Tool: tool(), Archs: archs(f.arch)}
	if o.Name == "" {
		o.Name = packer.NameOf(out)
	}
	if err := packer.Check(out); err != nil {
		return badInput(err)
	}
	in, err := f.inputs(ctx, l.arguments[1:])
	if err != nil {
		return err
	}
	compiler, err := compile.NVRTC(ctx)
	if err != nil {
		return err
	}
	defer compiler.Close()
	said := view{}.await("compiling a pack's kernels")
	p, err := packer.Make(ctx, compiler, in.Winners, in.Families, o)
	said.Done()
	if err != nil {
		return badInput(err)
	}
	tellAll(p.Notices)
	if err := p.Write(out); err != nil {
		return badInput(err)
	}
	families := ""
	if len(p.Families) > 0 {
		families = ", " + output.Count(len(p.Families), "family")
	}
	_, err = fmt.Fprintf(stdout, "wrote %s: %s%s and %s\n", out, output.Count(len(p.Entries), "tuned kernel"), families,
		output.Count(len(p.General), "general one"))
	return err
}

func (f *packFlags) inputs(ctx context.Context, operators []string) (in prove.Inputs, err error) {
	find := func(name string) (*operator.Operator, error) {
		op, err := findOperator(name)
		return op, badInput(err)
	}
	in = prove.Inputs{Device: f.device, Emulated: f.arch != "", Tool: tool(), Find: find, Tell: tell}
	if in.Operators, err = findOperators(operators); err != nil {
		return in, err
	}
	if f.from == nil {
		cache, err := cachePath(f.cache)
		if err != nil {
			return in, err
		}
		return in, in.FromCache(ctx, cache)
	}
	for _, path := range f.from {
		if err := in.FromFile(ctx, path); err != nil {
			return in, err
		}
	}
	return in, nil
}

// within reports whether a path is the folder itself or lies inside it.
func within(path, folder string) bool {
	path, err := filepath.Abs(path)
	folder, err2 := filepath.Abs(folder)
	return err == nil && err2 == nil && (path == folder || strings.HasPrefix(path, folder+string(filepath.Separator)))
}

func isPack(path string) bool {
	info, err := os.Stat(filepath.Join(path, pack.ManifestFile))
	return path != "" && err == nil && info.Mode().IsRegular()
}

// checkPack verifies a pack's files. On a machine with a GPU, checkPack also times the pack's entries again.
func (f *checkFlags) checkPack(ctx context.Context, l line) error {
	path := l.first()
	p, err := pack.Open(path)
	if err != nil {
		return badInput(err)
	}
	o := prove.Options{
		CI: f.ci, Tool: tool(), Say: f.view.say, Tell: tell,
		Search: f.view.search, Trouble: deviceTrouble,
	}
	if o.Operators, err = findOperators(l.arguments[1:]); err != nil {
		return err
	}
	if o.Opener, err = f.device.opener(f.view, devices.Options{Runs: true}); err != nil {
		return badInput(err)
	}
	defer o.Opener.Close()
	checked, err := prove.Open(p, o)
	if err != nil {
		return badInput(err)
	}
	switch err := checked.Prove(ctx); {
	case (errors.Is(err, device.ErrNone) || errors.Is(err, compile.ErrMissing)) && len(l.allGiven("device", "ci")) == 0:
		tell("the entries are listed and not proven again: " + explain(err))
		return writeDocument(f.json, checked, checked.Text())
	case err != nil:
		return err
	}
	if err := writeDocument(f.json, checked, checked.Text()); err != nil {
		return err
	}
	return withCode(exitNoVariant, checked.Fault())
}
