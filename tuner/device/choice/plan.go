package choice

import (
	"context"
	"fmt"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda"
	"autotune/tuner/device/emulator"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
)

// Plan binds a problem as the device would that --device names, without running
// anything there: to know a space it takes a device's limits, not the device.
// from says whose limits they are.
func Plan(ctx context.Context, spec Spec, op *operator.Operator, r operator.Request) (p *operator.Problem, from string, err error) {
	// A problem that is wrong on every device is told before any is looked for.
	if _, err := op.Bind(r, emulator.Limits()); err != nil {
		return nil, "", err
	}
	limits, from, err := limitsOf(ctx, spec, op, r)
	if err != nil {
		return nil, "", err
	}
	p, err = op.Bind(r, limits)
	return p, from, err
}

func limitsOf(ctx context.Context, spec Spec, op *operator.Operator, r operator.Request) (operator.Limits, string, error) {
	switch {
	case spec.Kind == device.CUDA:
		return limitsOfGPU(ctx, spec.Ordinal)
	case spec.Kind == device.Emulator:
		return emulator.Limits(), "the CPU emulator, which has those of an sm_90 GPU", nil
	case spec.Kind == device.Replay && spec.File != "":
		recorded, err := recording.Load(spec.File)
		if err != nil {
			return operator.Limits{}, "", err
		}
		return recorded.Metadata.Device.Limits, "the recorded " + recorded.Metadata.Device.Name, nil
	case spec.Kind == device.Replay:
		return limitsOfShipped(op, r)
	}
	if limits, from, err := limitsOfGPU(ctx, 0); err == nil {
		return limits, from, nil
	}
	if limits, from, err := limitsOfShipped(op, r); err == nil {
		return limits, from, nil
	}
	return emulator.Limits(), "an sm_90 GPU, as there is none here", nil
}

func limitsOfGPU(ctx context.Context, ordinal int) (operator.Limits, string, error) {
	gpus, err := cuda.List(ctx)
	if err != nil {
		return operator.Limits{}, "", err
	}
	if ordinal >= len(gpus) {
		return operator.Limits{}, "", fmt.Errorf("there is no cuda:%d; `autotune devices` lists the GPUs: %w", ordinal, device.ErrNone)
	}
	limits := gpus[ordinal].Limits
	limits.Target = compile.Target(compilerVersion(ctx), limits.Arch)
	return limits, gpus[ordinal].Name, nil
}

// compilerVersion is NVRTC's, "" without one: what a GPU's kernels are compiled
// for depends on it too.
func compilerVersion(ctx context.Context) string {
	c, err := compile.NVRTC(ctx)
	if err != nil {
		return ""
	}
	defer c.Close()
	return c.Version()
}

func limitsOfShipped(op *operator.Operator, r operator.Request) (operator.Limits, string, error) {
	entry, _, err := recording.FindRequest(recording.Shipped(), op, r)
	if err != nil {
		return operator.Limits{}, "", notShipped(op, r)
	}
	return entry.Metadata.Device.Limits, "the recorded " + entry.Metadata.Device.Name, nil
}

func notShipped(op *operator.Operator, r operator.Request) error {
	return fmt.Errorf("no recording of %s %s with these parameters is shipped; `autotune devices` lists those that are: %w",
		op.Name, operator.FormatShape(r.Shape), device.ErrNone)
}
