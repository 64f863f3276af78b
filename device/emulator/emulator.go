// Package emulator is a device that runs kernels on the CPU, for machines without a GPU.
//
// Each variant becomes a program of its own. The host's C++ compiler compiles the kernel's own .cu file against a small
// shim (folder shim), which provides CUDA's keywords and functions, and a runtime (folder runtime) is linked to it. The
// variant's program reads a job and distributes the grid's blocks over the machine's cores. Within a block the program
// runs the threads by switching between their stacks. Finally, a variant's program checks and times the result, and
// answers with a line of JSON. Because each variant has a program of its own, no fault of a kernel reaches the search:
// a kernel may crash, hang or overwrite its memory.
//
// The emulator is stricter than a GPU in order to reveal mistakes. Shared memory is initialised to NaN. Data that an
// asynchronous copy has not delivered yet reads as NaN. Guard zones surround the tensors. If threads wait for ever, the
// error message names the threads. With Options.Sanitize the compiler's sanitizers check every memory access. Data
// races are detected from the order that barriers and atomics establish (race.go).
//
// The emulator measures times on the CPU, which say nothing about the ranking of kernels on a GPU.
package emulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"autotune/device"
	"autotune/device/answers"
	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/internal/lists"
	"autotune/internal/worker"
	"autotune/operator"
)

// Options adjust the emulator. The zero value of Options is right for a search.
type Options struct {
	Sanitize bool   // watch memory accesses and undefined behaviour
	CacheDir string // folder of cached compilations; "" means none

	races bool // look for data races (race.go); not with Sanitize
}

// Open finds the host's C++ compiler, or returns an error that wraps ErrNoCompiler.
func Open(o Options) (device.Device, error) {
	host, err := newHostCompiler(o)
	if err != nil {
		return nil, err
	}
	return &emulated{options: o, host: host, compiler: host.cached()}, nil
}

type emulated struct {
	options  Options
	host     *hostCompiler
	compiler compile.Compiler
	watching watching
}

func (e *emulated) Info() device.Info {
	return device.Info{
		Name:     "CPU emulator (" + cpuModel() + ")",
		Kind:     device.Emulator,
		Compiler: e.compiler.Version(),
		Limits:   Limits(),
	}
}

func (e *emulated) Compiler() compile.Compiler { return e.compiler }
func (e *emulated) Arch() string               { return hostArch() }

// Open prepares a problem: it runs the reference once and keeps the reference's outputs for all later comparisons.
func (e *emulated) Open(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	if limits := Limits(); p.MemoryBytes() > limits.MemoryBytes/2 {
		// A problem may use half of the machine's memory; the reference's outputs, kept beside the problem's tensors,
		// need the rest.
		return nil, fmt.Errorf("%w: the tensors of %s take %s, this machine has %s for the emulator", device.ErrMemory, p, device.GiB(p.MemoryBytes()), device.GiB(limits.MemoryBytes/2))
	}
	return openSession(ctx, e, p, reference, proto)
}

func (e *emulated) Close() error { return errors.Join(e.compiler.Close(), e.watching.close()) }

func temporary(dir, pattern string) (string, error) {
	made, err := os.MkdirTemp(dir, pattern)
	if err != nil {
		return "", fmt.Errorf("the emulator needs a temporary folder: %w", err)
	}
	return filepath.Clean(made), nil
}

// session is a problem on the emulator, with the reference's outputs in files.
type session struct {
	device    *emulated
	problem   *operator.Problem
	reference *compile.Binary
	proto     device.Protocol // with the current inputs
	changes   uint32          // seed of the changes to the inputs; 0 if they did not change
	dir       string
	cores     int // number of the machine's cores
	walls     *walls
	ceilings  device.Ceilings

	parts verify.Parts // the operator's own kernels
}

// maxSamples limits the samples of a variant, because more CPU times would say nothing more about a GPU.
const maxSamples = 10

func openSession(ctx context.Context, e *emulated, p *operator.Problem, reference *compile.Binary, proto device.Protocol) (device.Session, error) {
	parts, err := verify.Compile(ctx, e.compiler, e.Arch(), p)
	if err != nil {
		return nil, err
	}
	dir, err := temporary(e.host.scratch.Dir, "session-")
	if err != nil {
		return nil, err
	}
	proto.Samples = min(proto.Samples, maxSamples)
	if e.options.Sanitize {
		// Under a sanitizer times are meaningless, and everything takes longer.
		proto.Samples, proto.WarmUp = 1, 0
		proto.LaunchTimeout *= 10
	}
	around, err := e.host.wallsOf(ctx)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &session{device: e, walls: around, problem: p, reference: reference, proto: proto, dir: dir, cores: runtime.NumCPU(), parts: parts}
	// The reference is simple and slow, so a few timing samples of the reference are enough.
	if s.ceilings.ReferenceMS, err = s.prepareAnswers(ctx, min(proto.Samples, 3)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// prepareAnswers prepares the inputs and the right answers, and returns the reference's time in milliseconds, or 0 if
// the reference is not a kernel.
func (s *session) prepareAnswers(ctx context.Context, samples int) (ms float64, err error) {
	for _, f := range s.parts.Fillings {
		if err := s.runOwn(ctx, s.dir, f.Part, s.filled(f.Filling)); err != nil {
			return 0, err
		}
	}
	if s.problem.Operator.Answers == nil {
		ms, err = s.runReference(ctx, samples)
	} else {
		kept := s.device.options.CacheDir
		if s.changes != 0 {
			kept = "" // nobody needs the same changes again
		}
		err = answers.Question{
			Problem: s.problem, Inputs: s.proto.Inputs(), Drawn: s.device.compiler.Version() + s.device.Arch(),
			CacheDir: kept, Write: s.writeInputs,
		}.Answer(ctx, s.dir)
	}
	if err != nil || s.parts.Comparison == nil {
		return ms, err
	}
	apart, err := s.compareOwn(ctx, s.dir, "", answers.Name)
	if err != nil {
		return 0, err
	}
	return ms, s.parts.Comparison.AcceptItself(apart)
}

// runReference runs the reference kernel, whose outputs are kept, and returns its time in milliseconds.
func (s *session) runReference(ctx context.Context, samples int) (ms float64, err error) {
	kernel, err := s.problem.Reference()
	if err != nil {
		return 0, err
	}
	j, err := s.job(kernel.Launches)
	if err != nil {
		return 0, err
	}
	refused, err := j.ready(kernel, s.reference, s.problem.Limits)
	if err != nil {
		return 0, err
	}
	if refused.Status != "" {
		return 0, device.Blame(s.problem.Operator.Name, "", "cannot be launched: %s", refused.Message)
	}
	j.patience = 10 // the reference is simple and slow
	j.protocol.Samples, j.gaps = samples, true
	for i, a := range j.arguments {
		j.arguments[i].output = answers.Name(a.Argument)
	}
	a, err := runProgram(ctx, s.dir, s.reference.Code, j, sourceNames(kernel))
	if err != nil {
		return 0, err
	}
	if fault := s.referenceFault(a); fault != "" {
		return 0, device.Blame(s.problem.Operator.Name, "", "%s", fault)
	}
	return trial.Median(a.SamplesMS), nil
}

// ready checks that a kernel can be launched, and finds the variables in the program that tensors are copied to. If
// ready returns an outcome with a status, the kernel cannot be launched.
func (j *job) ready(k operator.Kernel, b *compile.Binary, within operator.Limits) (o trial.Outcome, err error) {
	if message := refused(k.Launches, within); message != "" {
		return trial.Outcome{Status: trial.Pruned, Message: message}, nil
	}
	if o.Message, err = j.placeSymbols(b.Code); o.Message != "" {
		o.Status = trial.LaunchError
	}
	return o, err
}

func (s *session) Refill(ctx context.Context, in device.Inputs) error {
	s.proto.Distribution, s.proto.Seed = in.Distribution, in.Seed
	_, err := s.prepareAnswers(ctx, 0)
	return err
}

// referenceFault says what is wrong with a reference, judged by its outputs alone, or returns "" if nothing is.
func (s *session) referenceFault(a response) string {
	if a.Status != trial.OK {
		return fmt.Sprintf("ends as %s: %s", gpuStatus(a.Status), a.Message)
	}
	for _, g := range a.Gaps {
		out := s.tensor(g.Tensor)
		if g.Unwritten > 0 {
			return "leaves " + verify.Unwritten(out, g.Unwritten, g.First)
		}
		// If a reference's output is a single number computed from many inputs, it may be NaN, for example if one input
		// has no logarithm. The inputs that a search uses must not lead to NaN in the reference's outputs.
		alone := out.Elements == 1 && s.proto.Distribution != s.problem.Operator.Inputs[0]
		extreme := slices.Contains(operator.Extremes(), s.proto.Distribution) // as 0/0 is, of zeros
		if g.NaN < out.Elements || s.proto.Distribution == "special" || alone || extreme {
			continue
		}
		where := "everywhere"
		if len(a.Gaps) > 1 {
			where += " in " + out.Name
		}
		return fmt.Sprintf("gives NaN %s, on %s inputs, which hold none", where, s.proto.Distribution)
	}
	return ""
}

func (s *session) tensor(name string) operator.Argument {
	t, _ := lists.First(s.problem.Arguments, func(t operator.Argument) bool { return t.Name == name })
	return t
}

func (s *session) workers() int {
	if s.device.options.Sanitize {
		return 1 // all blocks use the same shared variables
	}
	return s.cores
}

// job makes a job with the given launches and with everything that the protocol and the problem determine.
func (s *session) job(launches operator.Launches) (job, error) {
	j := job{walls: s.walls, launches: launches, protocol: s.proto, workers: s.workers(), changes: s.changes}
	fills, err := elements.FillsOf(s.problem.Arguments, s.proto.Distribution, s.proto.Seed)
	if err != nil {
		return j, fmt.Errorf("emulator: %w", err)
	}
	for i, a := range s.problem.Arguments {
		j.arguments = append(j.arguments, jobArgument{Argument: a, fill: fills[i], input: inputFile(a)})
	}
	return j, nil
}

func (s *session) Ceilings() device.Ceilings { return s.ceilings }
func (s *session) Close() error              { return os.RemoveAll(s.dir) }

func (s *session) Evaluate(ctx context.Context, v device.Variant, best float64) (trial.Outcome, error) {
	j, err := s.job(v.Kernel.Launches)
	if err != nil {
		return trial.Outcome{}, err
	}
	if s.proto.DropRatio > 0 {
		j.dropAboveMS = best * s.proto.DropRatio
	}
	o, _, err := s.runVariant(ctx, v, j)
	if err == nil && s.device.options.Sanitize && o.Status == trial.OK {
		var races trial.Outcome
		if races, _, err = s.Races(ctx, v); races.Status != trial.OK {
			o.Fail(races.Status, races.Message)
		}
	}
	return o, err
}

// Check runs one variant's program, which launches the kernel several times.
func (s *session) Check(ctx context.Context, v device.Variant, c device.Check) (trial.Outcome, int, error) {
	j, err := s.job(v.Kernel.Launches)
	if err != nil {
		return trial.Outcome{}, 0, err
	}
	if c.Leave != "" {
		return trial.Outcome{}, 0, errors.New("the emulator leaves no files")
	}
	j.protocol.Samples = 0
	j.check, j.change = c, c.Changes
	return s.runVariant(ctx, v, j)
}

func (s *session) runVariant(ctx context.Context, v device.Variant, j job) (o trial.Outcome, launches int, err error) {
	if o, err = j.ready(v.Kernel, v.Binary, s.problem.Limits); err != nil || o.Status != "" {
		return o, 0, err
	}
	dir, err := temporary(s.dir, "variant-")
	if err != nil {
		return o, 0, err
	}
	defer os.RemoveAll(dir)
	j.placeInputs("../")
	for i, a := range j.arguments {
		j.arguments[i].output = madeFile(a.Argument)
	}
	return s.compared(ctx, dir, v, j)
}

// gpuStatus returns the status that a program's outcome would have on a GPU, where a deadlock is a timeout.
func gpuStatus(s trial.Status) trial.Status {
	if s == deadlock {
		return trial.Timeout
	}
	return s
}

func (a response) outcome() trial.Outcome {
	o := a.Outcome
	o.Status = gpuStatus(o.Status)
	switch o.Status {
	case trial.OK:
		o.SetSamples(a.SamplesMS, 1)
	case trial.WrongResult:
		o.Message = worker.Shown(a.When + o.Message)
	}
	return o
}
