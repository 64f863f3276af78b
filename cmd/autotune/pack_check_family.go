package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"autotune/device"
	"autotune/pack"
	"autotune/pack/packer"
	"autotune/tuner"
	"autotune/tuner/family"
)

// checkFamily proves a family by its evidence: its kernels at the samples that it was made from,
// beside each sample's own best and the general kernel.
func (k *packCheck) checkFamily(f *pack.Family) (*checkedEntry, error) {
	e := &checkedEntry{Target: f.Target}
	e.Problem, e.Device, e.Verdict = f.Problem, f.Device, unproven
	of, err := k.family(f)
	if err != nil {
		e.Message = explain(err)
		return e, nil
	}
	e.family = of
	for _, o := range k.list { // the emulator runs a kernel of all architectures alike
		if k.c.String("device") == string(device.Emulator) && o.family != nil && o.Problem == e.Problem && o.Device == e.Device {
			e.rechecked, e.fault = o.rechecked, o.fault
			return e, nil
		}
	}
	opened, err := k.opener.Open(k.c.Context, of.Operator, of.Request(of.Samples[0].Shape))
	if err != nil {
		return nil, err
	}
	here := opened.Device.Info()
	measures := here.Kind.Properties().Measures
	if measures && archOf(f.Target) != here.Limits.Arch {
		e.Message = fmt.Sprintf("it is for %s; %s has sm_%d", f.Target, here.Name, here.Limits.Arch)
		return e, nil
	}
	if !k.c.Bool("quiet") {
		say(os.Stderr, "autotune: timing "+f.Problem+" at its samples")
	}
	now, err := of.Check(k.c.Context, k.opener, of.Operator, family.Options{Search: tuner.Options{Seed: 1}})
	if err != nil {
		return nil, deviceTrouble(err)
	}
	e.judge(now, f.Regret, measures)
	return e, nil
}

// lostBy is how much faster the general kernel must be, over all samples, for a family to be lost.
const lostBy = 1.02

// judge gives a family's verdict, and says how it does beside what it was packed with.
func (e *checkedEntry) judge(now *family.Checked, packed *pack.Regret, measured bool) {
	switch {
	case now.Status != "":
		e.Verdict, e.Message, e.fault = string(now.Status), now.Message, true
		return
	case len(now.Samples) == 0:
		e.Message = "none of its samples could be timed"
		return
	case measured && now.General > 0 && now.General*lostBy < 1:
		e.Verdict, e.Message, e.fault = "lost", "to the general kernel; ", true
	default:
		e.Verdict = "holds"
	}
	e.Message += "slowdown " + now.Score.String()
	if packed != nil {
		e.Message += "; " + regretText(packed)
	}
	if now.General > 0 {
		e.Message += fmt.Sprintf("; the general kernel takes %.2f times as long", now.General)
	}
}

// regretText says with which regret a family was packed.
func regretText(r *pack.Regret) string {
	score := func(s pack.Slowdown) family.Score { return family.Score{Worst: s.Worst, Mean: s.Mean, Of: s.Of} }
	text := "packed with " + score(r.Samples).String()
	if r.HeldOut.Of > 0 {
		text += ", held out " + score(r.HeldOut).String()
	}
	return text
}

// family is what a family's evidence tells, of the operator as it is here today.
func (k *packCheck) family(f *pack.Family) (*packer.Family, error) {
	if len(f.Evidence) == 0 {
		return nil, errors.New("the family has no evidence")
	}
	list, err := family.Read(bytes.NewReader(f.Evidence))
	if err != nil {
		return nil, fmt.Errorf("its evidence: %w", err)
	}
	if len(list) != 1 || len(list[0].Samples) == 0 {
		return nil, errors.New("its evidence has no samples")
	}
	op, err := k.operator(list[0].Operator)
	if err != nil {
		return nil, err
	}
	of, err := packer.FamilyOf(list[0], op)
	return &of, err
}
