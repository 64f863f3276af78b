package emulator

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"autotune/space/expr"
	"autotune/tuner/compile"
	"autotune/tuner/device/answers"
	"autotune/tuner/device/verify"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// What a tensor that is read holds is drawn in each variant's program, unless a file or
// a kernel of the operator's says it: then it lies in a file of the session's folder.

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
	j := job{launches: k.Launches, protocol: s.proto, workers: s.workers(), patience: 10, arguments: arguments}
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

// prepareInputs makes the files of what is not drawn.
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
