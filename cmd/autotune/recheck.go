package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/pack/prove"
	"autotune/tuner/devices"
	"autotune/tuner/store"
)

type recheckFlags struct {
	conditions  conditionFlags
	device      deviceFlags
	cache, json string
	view        view
	ci          bool
}

func recheckCommand() *cli.Command {
	var f recheckFlags
	return command("recheck [OPERATOR]",
		"verify and time the cache's winners again, against their runners-up and the default",
		"Takes the winners that were found on the device that --device names: OPERATOR's, or those of all "+
			"built-in operators. Each is timed as it was then; --l2 and --launch choose those that were timed so. The exit "+
			"code is 1 if a winner lost by more than its interval, or is wrong. With --ci each is timed against itself "+
			"instead, which tells this machine's noise. The exit code is then 1 if one is wrong or slower than recorded "+
			"beyond that noise, and the cache stays as it is.",
		f.recheck, slices.Concat(f.conditions.flags(),
			[]flag{f.device.flag(""), cacheFlag(&f.cache), jsonFlag(&f.json), f.view.quietFlag(), ciFlag(&f.ci, "")})...)
}

func (f *recheckFlags) recheck(ctx context.Context, l line) error {
	o := prove.Options{
		CI: f.ci, Tool: tool(), Say: f.view.say, Tell: tell, Search: f.view.search, Trouble: deviceTrouble,
	}
	var err error
	if len(l.arguments) == 0 {
		o.Operators, err = operator.Operators()
	} else {
		var op *operator.Operator
		op, err = operatorArgument(l)
		o.Operators = []*operator.Operator{op}
	}
	if err != nil {
		return err
	}
	conditions, err := f.conditions.conditions()
	if err != nil {
		return err
	}
	if f.conditions.asked() {
		o.Conditions = &conditions
	}
	s, err := openStore(ctx, f.cache, store.Options{Wait: readWait, ReadOnly: f.ci})
	if err != nil {
		return err
	}
	defer s.Close()
	if o.Opener, err = f.device.opener(f.view, devices.Options{Runs: true}); err != nil {
		return err
	}
	defer o.Opener.Close()
	list, err := prove.Cache(ctx, s, o)
	if err != nil {
		return err
	}
	if err := writeDocument(f.json, list, prove.Text(list)); err != nil {
		return err
	}
	if f.ci && len(list) == 0 { // silence would pass for success
		return withCode(exitNoVariant,
			errors.New("nothing was proven: the cache has no winner of this device; `autotune cache ls` lists what there is"))
	}
	if n := len(lists.Where(list, prove.Verdict.Lost)); n > 0 {
		return withCode(exitNoVariant, fmt.Errorf("%s no longer what it was", output.Count(n, "winner")))
	}
	return nil
}
