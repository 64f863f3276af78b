package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/compile"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner/lint"
)

type checkFlags struct {
	problem    problemFlags
	arch, json string
	device     deviceFlags
	view       view
	ci         bool
}

func checkCommand() *cli.Command {
	var f checkFlags
	return command("check OPERATOR|PACK [OPERATOR...]",
		"look for what is wrong or doubtful in an operator, without a GPU, or in a pack, on one",
		"Holds the kernels' parameters against the tensors of op.yaml, and names what nothing uses and tolerances "+
			"that accept almost any result. Compiles each template's default, compares it with the reference on a tiny "+
			"problem on the emulator, and looks for data races there. Of a pack it verifies every file. Where there is a "+
			"GPU it also verifies, gates and times every entry again, beside the untuned defaults; operators that are not "+
			"built in follow the pack. The exit code is 1 if an entry is wrong, or a family slower than the general kernel.",
		f.check, append(f.problem.flags(),
			textFlag(&f.arch, "arch", "sm_80,sm_90", "architectures that the defaults must compile for, `LIST` with commas; "+
				"\"\" for none"),
			jsonFlag(&f.json),
			textFlag(&f.device.device, "device", string(device.CUDA),
				"of a pack: the `DEVICE` on which its entries are verified and timed again: cuda, cuda:N, or emulator"),
			boolFlag(&f.view.quiet, "quiet", "of a pack: no progress", "q"),
			ciFlag(&f.ci, "of a pack: "))...)
}

func (f *checkFlags) check(ctx context.Context, l line) error {
	if isPack(l.first()) {
		return f.checkPack(ctx, l)
	}
	if given := l.allGiven("device", "quiet", "ci"); len(given) > 0 {
		return fmt.Errorf("--%s is for packs, and %s is not one", given[0], l.first())
	}
	op, err := operatorArgument(l)
	if err != nil {
		return err
	}
	request, err := f.problem.request(op, op.Example)
	if err != nil {
		return err
	}
	p, err := op.Bind(request, operator.TypicalLimits())
	if err != nil {
		return err
	}
	await := func(what string) func() { return f.view.await(what).Done }
	o := lint.Options{Named: l.first(), Archs: archs(f.arch), Await: await}
	o.CacheDir, _ = cacheDir()
	report, err := lint.Look(ctx, p, o)
	if errors.Is(err, compile.ErrArch) {
		return badInput(err)
	}
	if err != nil {
		return err
	}
	if err := writeDocument(f.json, report, report.Text()); err != nil {
		return err
	}
	if faults := report.Faults(); faults > 0 {
		return withCode(exitNoVariant, fmt.Errorf("%s in %s", output.Count(faults, "fault"), report.Problem))
	}
	return nil
}
