package emulator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/answers"
	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/operator"
	"autotune/space/expr"
)

// A variant's program writes its outputs to files, and the emulator compares them after the program's process has
// ended. The process of a variant's program never has access to the right answers, so that a kernel cannot copy them.
//
// The operator's own comparison kernel, if there is one, runs as a program of its own.

// madeFile names the file to which a variant's program writes a tensor; it returns "" if the tensor is not compared.
func madeFile(a operator.Argument) string {
	if answers.Name(a) == "" {
		return ""
	}
	return a.Name + ".made"
}

const errorFile = "error.made"

// compareOwn runs the operator's comparison kernel on outputs and the reference's outputs. The outputs are files in
// dir, named by the function made; up is the path from dir to the folder with the reference's outputs.
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

// compared runs a variant's program until it has verified the number of launches that the job wants, compares the
// outputs, and returns the number of launches. The program ends at a launch whose outputs differ from those of its
// first launch. If a launch differs, its outputs and those of the first launch are compared with the reference, and the
// program is started again for the remaining launches.
func (s *session) compared(ctx context.Context, dir string, v device.Variant, j job) (o trial.Outcome, launches int, err error) {
	wanted, worst, begin := max(j.check.Launches, 1), 0.0, time.Now()
	for {
		j.first, j.check.Launches = launches, wanted-launches
		a, err := runProgram(ctx, dir, v.Binary.Code, j, sourceNames(v.Kernel))
		if err != nil {
			return o, launches, err
		}
		if o = a.outcome(); o.Status == trial.OK {
			o, a.Launches, err = s.judge(ctx, dir, j, a, o)
		}
		worst = max(worst, o.MaxAbsError)
		o.MaxAbsError = worst
		launches += a.Launches
		late := j.check.Limit > 0 && time.Since(begin) > j.check.Limit
		if err != nil || o.Status != trial.OK || launches >= wanted || late || a.Launches == 0 {
			return o, launches, err
		}
	}
}

// judge returns the number of launches that count, which is 1 if the first launch is wrong.
func (s *session) judge(ctx context.Context, dir string, j job, a response, o trial.Outcome) (trial.Outcome, int, error) {
	made, err := splitMade(dir, j, a.Saves)
	if err != nil {
		return o, 0, err
	}
	when := ""
	if j.check.Launches > 1 {
		when = fmt.Sprintf("launch %d of %d: ", j.first+1, j.first+j.check.Launches)
	}
	fault, err := s.fault(ctx, dir, made[0], &o)
	if err != nil || fault != "" {
		o.Fail(trial.WrongResult, when+fault)
		return o, 1, err
	}
	if a.Changes != 0 {
		fault, err = s.changedFault(ctx, dir, made[len(made)-1], a.Changes, &o)
		a.When = verify.Changed
	} else if len(made) > 1 {
		if fault, err = s.fault(ctx, dir, made[1], &o); fault == "" && j.check.Exact {
			fault = verify.NotExact
		}
	}
	if err == nil && fault != "" {
		o.Fail(trial.WrongResult, a.When+fault)
	}
	return o, a.Launches, err
}

// splitMade splits each output file that contains the results of two launches into two files, and returns functions
// that name the files of each launch.
func splitMade(dir string, j job, saves int) ([]func(operator.Argument) string, error) {
	made := []func(operator.Argument) string{madeFile}
	if saves < 2 {
		return made, nil
	}
	second := func(a operator.Argument) string { return madeFile(a) + ".second" }
	for _, a := range j.arguments {
		if a.output == "" {
			continue
		}
		path := filepath.Join(dir, a.output)
		from, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("emulator: %w", err)
		}
		to, err := os.Create(filepath.Join(dir, second(a.Argument)))
		if err == nil {
			_, err = io.Copy(to, io.NewSectionReader(from, a.Bytes(), a.Bytes()))
			err = errors.Join(err, to.Close())
		}
		if err = errors.Join(err, from.Close()); err == nil {
			err = os.Truncate(path, a.Bytes())
		}
		if err != nil {
			return nil, fmt.Errorf("emulator: %w", err)
		}
	}
	return append(made, second), nil
}

// fault says what is wrong with the outputs of a launch in files of dir, or returns "" if they are right. fault also
// updates the outcome's largest error.
func (s *session) fault(ctx context.Context, dir string, made func(operator.Argument) string, o *trial.Outcome) (string, error) {
	if s.parts.Comparison != nil {
		return s.ownFault(ctx, dir, made, o)
	}
	fault := ""
	for _, a := range s.problem.Arguments {
		if answers.Name(a) == "" {
			continue
		}
		got, done, err := answers.Map(filepath.Join(dir, made(a)), a.Bytes())
		if err != nil {
			return "", fmt.Errorf("emulator: what the kernel made of %s cannot be read: %w", a.Name, err)
		}
		defer done()
		want, done, err := answers.Map(filepath.Join(s.dir, answers.Name(a)), a.Bytes())
		if err != nil {
			return "", fmt.Errorf("emulator: what is right for %s cannot be read: %w", a.Name, err)
		}
		defer done()
		largest := 0.0
		if s.proto.Distribution == operator.Large && a.Type.Kind() == operator.Floating {
			largest = elements.Largest(a.Type, want)
		}
		tolerance := verify.ToleranceOf(a, s.proto.Distribution, largest)
		d := elements.Compare(a.Type, tolerance, a.RTol, got, want)
		o.MaxAbsError = max(o.MaxAbsError, d.Largest)
		if d.Wrong > 0 && fault == "" {
			text := func(contents []byte) string { return elements.Text(a.Type, elements.Bits(a.Type, contents, d.First)) }
			fault = verify.Differs(a, d.Wrong, d.First, text(got), text(want))
		}
	}
	return fault, nil
}

// ownFault returns the same as fault, for operators that have a comparison kernel of their own.
func (s *session) ownFault(ctx context.Context, dir string, made func(operator.Argument) string, o *trial.Outcome) (string, error) {
	apart, err := s.compareOwn(ctx, dir, "../", made)
	var failed *device.ReferenceError
	switch {
	case errors.As(err, &failed): // it did not with the reference's
		return "the comparison with the reference " + failed.Fault, nil
	case err != nil:
		return "", err
	}
	if fault := s.parts.Comparison.Accept(apart); fault != "" {
		return fault, nil
	}
	o.MaxAbsError = max(o.MaxAbsError, apart)
	return "", nil
}

// changedFault returns the same as fault, for a launch after a few elements of the inputs have changed. changedFault
// computes the right answers for the changed inputs, and restores the files of the usual right answers afterwards.
func (s *session) changedFault(ctx context.Context, dir string, made func(operator.Argument) string, changes uint32, o *trial.Outcome) (fault string, err error) {
	rename := func(from, to string) (err error) {
		for _, a := range s.problem.Arguments {
			if name := answers.Name(a); name != "" && err == nil {
				err = os.Rename(filepath.Join(s.dir, name+from), filepath.Join(s.dir, name+to))
			}
		}
		return err
	}
	if err := rename("", ".unchanged"); err != nil {
		return "", fmt.Errorf("emulator: %w", err)
	}
	s.changes = changes
	if _, err = s.prepareAnswers(ctx, 0); err == nil {
		fault, err = s.fault(ctx, dir, made, o)
	}
	s.changes = 0
	return fault, errors.Join(err, rename(".unchanged", ""))
}

// Each variant's program generates its random inputs itself; inputs from a file or a kernel of the operator are in
// files of the session's folder.

// inputFile returns the name of the file with an argument's contents, or "" if a variant's program generates the
// contents at random.
func inputFile(a operator.Argument) string {
	if a.Fill.Drawn() || a.Elements == 0 {
		return ""
	}
	return answers.InputName(a)
}

// runOwn launches one of the operator's own kernels once. The arguments name files by their paths relative to dir.
func (s *session) runOwn(ctx context.Context, dir string, k verify.Part, arguments []jobArgument) error {
	j := job{walls: s.walls, launches: k.Launches, protocol: s.proto, workers: s.workers(), patience: 10, arguments: arguments, gaps: true, changes: s.changes}
	for i := range j.arguments {
		j.arguments[i].Symbol = "" // the kernel receives all arguments as parameters
	}
	j.protocol.Samples = 0
	a, err := runProgram(ctx, dir, k.Binary.Code, j, sourceNames(k.Kernel))
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

// filled returns the arguments of a kernel that fills tensors; the given tensors are the kernel's outputs.
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

// writeInputs writes the tensors that a kernel reads into files and returns the files' names. To generate the
// random tensors that are not in files yet, writeInputs runs a program that has no launches.
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
