package cuda

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"autotune/internal/scratch"
	"autotune/tuner/device"
	"autotune/tuner/device/answers"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
)

// What an operator has of its own beside its templates: files and kernels that fill
// tensors, answers that no kernel gives, a kernel that compares.

// addOwn adds the operator's own kernels and files to what a session is opened with.
func (s *session) addOwn(ctx context.Context) error {
	seed := operator.Argument{Role: operator.Scalar, Type: operator.U32}
	for _, f := range s.problem.Fillings() {
		var taken []operator.Argument
		for _, i := range f.Arguments {
			taken = append(taken, s.problem.Arguments[i])
		}
		i, err := s.compilePart(ctx, device.FillKernel, f.Kernel, append(taken, seed))
		if err != nil {
			return err
		}
		s.request.Fillings = append(s.request.Fillings, wire.Filling{Image: i, File: f.Kernel.File, Tensors: f.Tensors, Arguments: f.Arguments})
	}
	if k, there := s.problem.Comparing(); there {
		i, err := s.compilePart(ctx, device.Comparison, k, compared(s.problem.Arguments))
		if err != nil {
			return err
		}
		s.request.Comparing = &wire.Comparing{Image: i, File: k.File, Bound: s.problem.Bound}
	}
	return s.addFiles()
}

// compared are the arguments of a kernel that compares, as far as their sizes go.
func compared(arguments []operator.Argument) []operator.Argument {
	var all []operator.Argument
	for _, a := range arguments {
		copies := map[operator.Role]int{operator.Output: 2, operator.InOut: 3, operator.Workspace: 0}
		count, several := copies[a.Role]
		if !several {
			count = 1
		}
		for range count {
			all = append(all, a)
		}
	}
	return append(all, operator.Argument{Role: operator.InOut, Type: operator.F64})
}

// compilePart compiles one of the operator's own kernels.
func (s *session) compilePart(ctx context.Context, part string, k operator.Kernel, takes []operator.Argument) (wire.Image, error) {
	b, err := device.CompilePart(ctx, s.gpu.compiler, s.gpu.Arch(), s.problem.Operator.Name, part, k)
	if err != nil {
		return wire.Image{}, err
	}
	if wrong := launchMismatch(b, k.Launches[0].Entry, takes); wrong != "" {
		return wire.Image{}, &device.ReferenceError{Operator: s.problem.Operator.Name, Part: part, Fault: fmt.Sprintf("cannot be launched: %s: %s", k.File, wrong)}
	}
	return imageOf(b, k, nil), nil
}

// addFiles makes the folder of a session that needs one, and in it the files that
// tensors are filled from.
func (s *session) addFiles() (err error) {
	if s.problem.Operator.Answers == nil && len(s.problem.Operator.Data) == 0 {
		return nil
	}
	if s.folder, err = scratch.New("answers"); err != nil {
		return err
	}
	s.request.Files, err = answers.PlaceInputs(s.problem, s.folder.Dir)
	return err
}

// answer brings the worker what is right for the inputs of the moment, where no kernel
// says it.
func (s *session) answer(ctx context.Context) error {
	if s.problem.Operator.Answers == nil {
		return nil
	}
	q := answers.Question{Problem: s.problem, Inputs: s.inputs, Drawn: s.gpu.about.Compiler + s.gpu.Arch(), Write: s.writeInputs}
	if err := (answers.Maker{CacheDir: s.gpu.cacheDir}).Answer(ctx, q, s.folder.Dir); err != nil {
		return err
	}
	files := make([]string, len(s.problem.Arguments))
	for i, a := range s.problem.Arguments {
		if name := answers.Name(a); name != "" {
			files[i] = filepath.Join(s.folder.Dir, name)
		}
	}
	r, err := s.gpu.call(ctx, openLimit, wire.Request{Session: s.number, Answer: &wire.Answer{Files: files}})
	if err != nil {
		return errors.Join(fmt.Errorf("bring the GPU what is right: %w", err), s.gpu.abandon())
	}
	if r.Fault == nil {
		s.request.Answers = files
	}
	return faultError(r.Fault)
}

// writeInputs has the worker write what the tensors that are read hold, unless that
// lies in files.
func (s *session) writeInputs(ctx context.Context, dir string) ([]string, error) {
	files, wanted := make([]string, len(s.problem.Arguments)), make([]string, len(s.problem.Arguments))
	for i, a := range s.problem.Arguments {
		switch {
		case !a.Role.Filled() || a.Elements == 0:
		case s.request.Files[i] != "":
			files[i] = s.request.Files[i]
		default:
			files[i] = filepath.Join(dir, a.Name+".drawn")
			wanted[i] = files[i]
		}
	}
	r, err := s.gpu.call(ctx, openLimit, wire.Request{Session: s.number, Inputs: &wire.Inputs{Files: wanted}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("fetch the inputs from the GPU: %w", err), s.gpu.abandon())
	}
	return files, faultError(r.Fault)
}

// blamed gives a fault of the operator's its type.
func (s *session) blamed(err error) error {
	var fault *wire.Fault
	if errors.As(err, &fault) && fault.Kind == wire.BadReference {
		return &device.ReferenceError{Operator: s.problem.Operator.Name, Part: fault.Part, Fault: fault.Message}
	}
	return err
}
