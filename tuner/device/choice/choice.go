// Package choice opens the device that `--device` names, and binds the problem
// to it: what a GPU can do decides what `--math auto` means and which
// configurations are valid.
package choice

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda"
	"autotune/tuner/device/emulator"
	"autotune/tuner/device/replay"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
)

// Spec is a parsed --device.
type Spec struct {
	Kind    device.Kind // empty: auto
	Ordinal int         // of a CUDA device
	File    string      // of a recording; empty: a shipped one
}

// Parse reads auto, cuda, cuda:N, emulator, replay or replay:FILE.
func Parse(s string) (Spec, error) {
	kind, rest, has := strings.Cut(s, ":")
	switch {
	case s == "auto", s == "":
		return Spec{}, nil
	case s == "cuda", s == "emulator", s == "replay":
		return Spec{Kind: device.Kind(s)}, nil
	case kind == "cuda":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return Spec{}, fmt.Errorf("--device %s: want cuda:N with N the GPU's number; `autotune devices` lists them", s)
		}
		return Spec{Kind: device.CUDA, Ordinal: n}, nil
	case kind == "replay" && has && rest != "":
		return Spec{Kind: device.Replay, File: rest}, nil
	}
	return Spec{}, fmt.Errorf("--device %s: want auto, cuda, cuda:N, emulator, replay or replay:FILE", s)
}

// Options say how to open a device.
type Options struct {
	CacheDir string // of compiled binaries
	Sanitize bool   // emulator: find out-of-bounds and misaligned accesses
}

// Choice is an open device with the problem bound to it.
type Choice struct {
	Device  device.Device
	Problem *operator.Problem
	// Notice tells the user what was chosen for them, when it is not a GPU.
	Notice string
}

// Opener opens devices for one problem after another; a GPU, its compilers and
// the emulator serve them all.
type Opener struct {
	spec    Spec
	options Options
	shared  device.Device // nil until one is open
	noGPU   error         // why auto found none, once it has looked
}

// NewOpener returns an Opener of the device that spec names.
func NewOpener(spec Spec, o Options) *Opener { return &Opener{spec: spec, options: o} }

// Open opens the device, unless it is open, and binds the problem to it. The
// device is the Opener's to close.
func (o *Opener) Open(ctx context.Context, op *operator.Operator, r operator.Request) (*Choice, error) {
	// A problem that is wrong on every device is told before any is opened.
	if _, err := op.Bind(r, emulator.Limits()); err != nil {
		return nil, err
	}
	if o.shared != nil && (o.spec.Kind != "" || o.shared.Info().Kind == device.CUDA) {
		return bound(o.shared, op, r, "")
	}
	c, err := o.open(ctx, op, r)
	if err == nil && c.Device.Info().Kind != device.Replay {
		o.shared = c.Device
	}
	return c, err
}

// Close closes the device.
func (o *Opener) Close() error {
	if o.shared == nil {
		return nil
	}
	return o.shared.Close()
}

func (o *Opener) open(ctx context.Context, op *operator.Operator, r operator.Request) (*Choice, error) {
	switch o.spec.Kind {
	case device.CUDA:
		return openCUDA(ctx, o.spec.Ordinal, op, r, o.options)
	case device.Emulator:
		return openEmulator(op, r, o.options)
	case device.Replay:
		if o.spec.File != "" {
			return openRecording(o.spec.File, op, r)
		}
		return openShipped(op, r)
	}
	return o.auto(ctx, op, r)
}

// auto takes CUDA; else a shipped recording of exactly this problem; else the
// emulator, if that will not take long.
func (o *Opener) auto(ctx context.Context, op *operator.Operator, r operator.Request) (*Choice, error) {
	if o.noGPU == nil {
		c, err := openCUDA(ctx, 0, op, r, o.options)
		if err == nil || !errors.Is(err, device.ErrNone) {
			return c, err
		}
		o.noGPU = err
	}
	if c, err := openShipped(op, r); err == nil {
		return c, nil
	}
	p, err := op.Bind(r, emulator.Limits())
	if err != nil {
		return nil, err
	}
	if work := emulatedSeconds(p); work > emulatorPatience {
		return nil, &nowhere{o.noGPU, p, work}
	}
	if o.shared != nil { // the emulator, from a problem before
		return bound(o.shared, op, r, "")
	}
	c, err := openEmulator(op, r, o.options)
	if err != nil {
		return nil, fmt.Errorf("no GPU, and %w", err)
	}
	c.Notice = "no GPU: " + c.Notice
	return c, nil
}

// nowhere is a problem that no device of this machine can take on.
type nowhere struct {
	noGPU   error
	problem *operator.Problem
	seconds float64 // that the emulator would take a variant
}

func (n *nowhere) Error() string {
	return fmt.Sprintf("nothing here can run %s: %s; no recording of exactly this problem is shipped; the CPU emulator would take %s a variant; use a machine with an NVIDIA GPU, a smaller --shape, or insist with --device emulator",
		n.problem, device.Reason(n.noGPU), roughly(n.seconds))
}

func (n *nowhere) Unwrap() error { return n.noGPU }

func openCUDA(ctx context.Context, ordinal int, op *operator.Operator, r operator.Request, o Options) (*Choice, error) {
	compiler, err := compile.NVRTC(ctx)
	if err != nil {
		// Without a GPU, the missing compiler is not what is missing.
		if _, noGPU := cuda.List(ctx); noGPU != nil {
			return nil, noGPU
		}
		return nil, err
	}
	if o.CacheDir != "" {
		compiler = compile.Cached(o.CacheDir, compiler)
	}
	d, err := cuda.Open(ctx, ordinal, compiler)
	if err != nil {
		return nil, errors.Join(err, compiler.Close())
	}
	return boundOrClosed(&compiling{d, compiler}, op, r, "")
}

// compiling closes a device's compiler with it.
type compiling struct {
	device.Device
	compiler compile.Compiler
}

func (c *compiling) Close() error { return errors.Join(c.Device.Close(), c.compiler.Close()) }

func openEmulator(op *operator.Operator, r operator.Request, o Options) (*Choice, error) {
	d, err := emulator.Open(emulator.Options{Sanitize: o.Sanitize, CacheDir: o.CacheDir})
	if err != nil {
		return nil, err
	}
	return boundOrClosed(d, op, r, "kernels run on the CPU emulator; times say nothing about a GPU")
}

func openRecording(file string, op *operator.Operator, r operator.Request) (*Choice, error) {
	recorded, err := recording.Load(file)
	if err != nil {
		return nil, err
	}
	return replayed(recorded, op, r)
}

// openShipped finds the recording of exactly this problem in the binary.
func openShipped(op *operator.Operator, r operator.Request) (*Choice, error) {
	entry, _, err := recording.FindRequest(recording.Shipped(), op, r)
	if errors.Is(err, recording.ErrNotFound) {
		return nil, notShipped(op, r)
	}
	if err != nil {
		return nil, err
	}
	recorded, err := recording.LoadFS(recording.Shipped(), entry.Name)
	if err != nil {
		return nil, err
	}
	return replayed(recorded, op, r)
}

func replayed(recorded *recording.Recording, op *operator.Operator, r operator.Request) (*Choice, error) {
	c, err := boundOrClosed(replay.Open(recorded), op, r, "replay of "+recorded.Metadata.Origin()+"; nothing is measured here")
	if err != nil {
		return nil, err
	}
	if want := recorded.Metadata.Problem.Text; c.Problem.String() != want {
		return nil, fmt.Errorf("%w: it holds %s, not %s", replay.ErrProblem, want, c.Problem)
	}
	return c, nil
}

// boundOrClosed binds the problem to a device that was opened for it.
func boundOrClosed(d device.Device, op *operator.Operator, r operator.Request, notice string) (*Choice, error) {
	c, err := bound(d, op, r, notice)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return c, nil
}

// bound binds the problem to an open device.
func bound(d device.Device, op *operator.Operator, r operator.Request, notice string) (*Choice, error) {
	info := d.Info()
	p, err := op.Bind(r, info.Limits)
	if err != nil {
		return nil, err
	}
	if has := info.Limits.MemoryBytes; info.Kind != device.Replay && has > 0 && p.MemoryBytes() > has {
		return nil, fmt.Errorf("%w: the tensors of %s take %s, %s has %s", device.ErrMemory, p, device.GiB(p.MemoryBytes()), info.Name, device.GiB(has))
	}
	return &Choice{Device: d, Problem: p, Notice: notice}, nil
}
