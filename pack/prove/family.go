package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"autotune/pack"
	"autotune/pack/packer"
	"autotune/tuner"
	"autotune/tuner/family"
)

// lostBy is the factor by which the general kernel must be faster than the family's kernels, over all samples, for a
// verdict that the family is lost.
const lostBy = 1.02

// proveFamily times a family again, from the document that the pack stores as evidence. For each sample shape in the
// document, proveFamily compares the kernel that the family chooses with the shape's own best kernel and with the
// general kernel.
func (c *Checked) proveFamily(ctx context.Context, e *Entry, packed *pack.Family) error {
	f, err := c.family(packed)
	if err != nil {
		e.Message = reason(err)
		return nil
	}
	on, err := c.o.Opener.Open(ctx, f.Operator, f.Request(f.Samples[0].Shape))
	if err != nil || e.elsewhere(on) {
		return err
	}
	c.o.Say("timing " + packed.Problem + " at its samples")
	now, err := f.Check(ctx, c.o.Opener, f.Operator, family.Options{Search: tuner.Options{Seed: 1}})
	if err != nil {
		return c.o.Trouble(err)
	}
	e.judge(now, packed.Regret, on.Device.Info().Kind.Properties().Measures)
	return nil
}

// judge sets the verdict on a family, and says how its slowdown compares with the slowdown that was measured when the
// family was packed.
func (e *Entry) judge(now *family.Checked, packed *pack.Regret, measured bool) {
	verdict := &e.Verdict.Verdict
	switch {
	case now.Status != "":
		*verdict, e.Message, e.fault = string(now.Status), now.Message, true
		return
	case len(now.Samples) == 0:
		e.Message = "none of its samples could be timed"
		return
	case measured && now.General > 0 && now.General*lostBy < 1:
		*verdict, e.Message, e.fault = "lost", "to the general kernel; ", true
	default:
		*verdict = "holds"
	}
	e.Message += "slowdown " + now.Score.String()
	if packed != nil {
		e.Message += "; " + packedRegret(packed)
	}
	if now.General > 0 {
		e.Message += fmt.Sprintf("; the general kernel takes %.2f times as long", now.General)
	}
}

// packedRegret describes the slowdown that was measured for a family when it was packed.
func packedRegret(r *pack.Regret) string {
	if r == nil {
		return "no regret measured"
	}
	score := func(s pack.Slowdown) family.Score { return family.Score{Worst: s.Worst, Mean: s.Mean, Of: s.Of} }
	text := "packed with " + score(r.Samples).String()
	if r.HeldOut.Of > 0 {
		text += ", held out " + score(r.HeldOut).String()
	}
	return text
}

func (c *Checked) family(f *pack.Family) (*packer.Family, error) {
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
	op, err := c.operator(list[0].Operator)
	if err != nil {
		return nil, err
	}
	of, err := packer.FamilyOf(list[0], op)
	return &of, err
}
