package emulator

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"autotune/space/expr"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/device/answers"
	"autotune/tuner/device/elements"
	"autotune/tuner/device/verify"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// An operator may compare outputs by a kernel of its own. That is a program too: it
// takes files with what a variant's program made, so each launch of the variant that is
// verified has a process of its own.

// madeFile is the file of a variant's folder with what it made of a tensor.
func madeFile(a operator.Argument) string {
	if answers.Name(a) == "" {
		return ""
	}
	return a.Name + ".made"
}

// errorFile is where the number lies that the comparison gives.
const errorFile = "error.made"

// acceptReference checks that the operator's own comparison finds the reference equal to itself.
func (s *session) acceptReference(ctx context.Context) error {
	if s.parts.Comparison == nil {
		return nil
	}
	apart, err := s.compareOwn(ctx, s.dir, "", answers.Name)
	if err != nil {
		return err
	}
	return s.parts.Comparison.AcceptItself(apart)
}

// compareOwn runs the operator's comparison of outputs with the reference's. The outputs are files
// of a folder, under the names that made gives; up is the path to the reference's.
func (s *session) compareOwn(ctx context.Context, dir, up string, made func(operator.Argument) string) (apart float64, err error) {
	j, err := s.job(nil)
	if err != nil {
		return 0, err
	}
	var all []jobArgument
	for _, p := range verify.ComparisonArguments(s.problem.Arguments) {
		a := j.arguments[p.Argument]
		if a.input != "" {
			a.input = up + a.input
		}
		switch p.Content {
		case verify.Made:
			a = jobArgument{Argument: a.Argument, input: made(a.Argument)}
		case verify.Reference:
			a = jobArgument{Argument: a.Argument, input: up + answers.Name(a.Argument)}
			a.Name += ".reference"
		case verify.Before:
			a.Name += ".before"
		}
		if p.Content != verify.Given {
			a.Role = operator.Input
		}
		all = append(all, a)
	}
	zero, err := elements.FillOf(operator.Argument{Fill: &operator.Fill{Distribution: "constant", Numbers: []float64{0}}}, "", 0)
	if err != nil {
		return 0, err
	}
	all = append(all, jobArgument{Argument: operator.Argument{Name: "error", Role: operator.InOut, Type: operator.F64, Elements: 1}, fill: zero, output: errorFile})
	if err := s.runOwn(ctx, dir, s.parts.Comparison.Part, all); err != nil {
		return 0, err
	}
	bits, err := os.ReadFile(filepath.Join(dir, errorFile))
	if err != nil || len(bits) != 8 {
		return 0, fmt.Errorf("emulator: what %s gives cannot be read: %w", s.parts.Comparison.File, err)
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(bits)), nil
}

// compared runs one variant's program for each launch that is to be verified, and has
// the operator compare what it made. It tells how many launches were.
func (s *session) compared(ctx context.Context, dir string, v device.Variant, j job) (trial.Outcome, int, error) {
	check := j.check
	for i, a := range j.arguments {
		j.arguments[i].output, j.arguments[i].reference = madeFile(a.Argument), ""
	}
	j.check = device.Check{}
	return verify.Repeat(check, func(before int) (o trial.Outcome, sums [][sha256.Size]byte, err error) {
		j.first = before
		o, err = s.compareLaunch(ctx, dir, v, j)
		if err == nil && check.Exact && o.Status == trial.OK {
			sums, err = j.sums(dir)
		}
		return o, sums, err
	})
}

// compareLaunch runs a variant's program, which launches it once to be verified, and
// has the operator compare what that made.
func (s *session) compareLaunch(ctx context.Context, dir string, v device.Variant, j job) (trial.Outcome, error) {
	a, err := runProgram(ctx, dir, v.Binary.Code, j, sourceNames(v.Kernel.File, v.Kernel.Includes))
	if err != nil {
		return trial.Outcome{}, err
	}
	o := s.outcome(a)
	if o.Status != trial.OK {
		return o, nil
	}
	apart, err := s.compareOwn(ctx, dir, "../", madeFile)
	var failed *device.ReferenceError
	if errors.As(err, &failed) { // it did not with the reference's
		o.Fail(trial.WrongResult, "the comparison with the reference "+failed.Fault)
		return o, nil
	}
	if err != nil {
		return trial.Outcome{}, err
	}
	if fault := s.parts.Comparison.Accept(apart); fault != "" {
		o.MaxAbsError = 0
		o.Fail(trial.WrongResult, fault)
		return o, nil
	}
	o.MaxAbsError = apart
	return o, nil
}

// sums identify what a variant's program made.
func (j job) sums(dir string) ([][sha256.Size]byte, error) {
	var all [][sha256.Size]byte
	for _, a := range j.arguments {
		if a.output == "" {
			continue
		}
		f, err := os.Open(filepath.Join(dir, a.output))
		h := sha256.New()
		if err == nil {
			_, err = io.Copy(h, f)
			f.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("emulator: %w", err)
		}
		all = append(all, [sha256.Size]byte(h.Sum(nil)))
	}
	return all, nil
}

// Each variant's program draws the contents of tensors that are read, unless a file or a kernel of
// the operator's fills them. Then they are in a file of the session's folder.

// inputFile is that file; "" if the contents are drawn.
func inputFile(a operator.Argument) string {
	if a.Fill.Drawn() || a.Elements == 0 {
		return ""
	}
	return answers.InputName(a)
}

// runOwn launches a kernel of the operator's that is no variant once, on some arguments
// whose files are named from a folder.
func (s *session) runOwn(ctx context.Context, dir string, k verify.Part, arguments []jobArgument) error {
	j := job{walls: s.walls, launches: k.Launches, protocol: s.proto, workers: s.workers(), patience: 10, arguments: arguments}
	for i := range j.arguments {
		j.arguments[i].Symbol = "" // such a kernel is passed all
	}
	j.protocol.Samples = 0
	a, err := runProgram(ctx, dir, k.Binary.Code, j, sourceNames(k.File, k.Includes))
	switch {
	case err != nil:
		return err
	case a.Status == trial.WrongResult:
		return k.Blame("is wrong: %s %s", k.File, a.Message)
	case a.Status != trial.OK:
		return k.Blame("cannot be used: %s ends as %s: %s", k.File, gpuStatus(a.Status), a.Message)
	}
	for _, g := range a.Gaps {
		if g.Unwritten > 0 {
			return k.Blame("is wrong: %s leaves %s", k.File, verify.Unwritten(s.tensor(g.Tensor), g.Unwritten, g.First))
		}
	}
	return nil
}

// prepareInputs makes the files of contents that are not drawn.
func (s *session) prepareInputs(ctx context.Context) error {
	if _, err := answers.PlaceInputs(s.problem, s.dir); err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	for _, f := range s.parts.Fillings {
		if err := s.runOwn(ctx, s.dir, f.Part, s.filled(f.Filling)); err != nil {
			return err
		}
	}
	return nil
}

// filled are the arguments of a kernel that fills: to it its tensors are outputs.
func (s *session) filled(f operator.Filling) []jobArgument {
	var all []jobArgument
	for _, i := range f.Arguments {
		given := jobArgument{Argument: s.problem.Arguments[i]}
		if given.Role != operator.Scalar {
			given.Role, given.output = operator.Output, inputFile(given.Argument)
		}
		all = append(all, given)
	}
	seed := expr.Int(int64(s.proto.Seed + uint32(f.Tensors[0])))
	return append(all, jobArgument{Argument: operator.Argument{Name: "seed", Role: operator.Scalar, Type: operator.U32, Value: seed}})
}

// writeInputs puts what the tensors that are read hold into files, and names these. A
// program that does nothing draws what has no file yet.
func (s *session) writeInputs(ctx context.Context, dir string) ([]string, error) {
	j, err := s.job(nil)
	if err != nil {
		return nil, err
	}
	files := make([]string, len(j.arguments))
	var drawn []jobArgument
	for i, a := range j.arguments {
		switch {
		case !a.Role.Filled() || a.Elements == 0:
		case a.input != "":
			files[i] = filepath.Join(s.dir, a.input)
		default:
			a.Role, a.output = operator.InOut, a.Name+".drawn"
			drawn = append(drawn, a)
			files[i] = filepath.Join(dir, a.output)
		}
	}
	if len(drawn) == 0 {
		return files, nil
	}
	parameters := strings.TrimPrefix(strings.Repeat(", void*", len(drawn)), ", ")
	k := operator.Kernel{
		Operator: "emulator", Template: "draw", File: "draw.cu",
		Source:   `extern "C" __global__ void draw(` + parameters + ") {}\n",
		Launches: operator.Launches{{Entry: "draw", Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1}}},
	}
	b, err := s.device.compiler.Compile(ctx, compile.Request{Kernel: k, Arch: s.device.Arch()})
	if err != nil {
		return nil, fmt.Errorf("emulator: compile what draws the inputs: %w", err)
	}
	return files, s.runOwn(ctx, dir, verify.Part{Kernel: k, Operator: k.Operator, Name: "the kernel that draws", Binary: b}, drawn)
}
