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
	"slices"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/device/answers"
	"autotune/tuner/device/elements"
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

// prepareComparison compiles the operator's own comparison, and sees that it finds the
// reference as right as itself.
func (s *session) prepareComparison(ctx context.Context) error {
	k, there := s.problem.Comparing()
	if !there {
		return nil
	}
	if s.comparing == nil {
		compiled, err := s.compileOwn(ctx, device.Comparison, k)
		if err != nil {
			return err
		}
		s.comparing = &compiled
	}
	apart, err := s.compareOwn(ctx, s.dir, "", answers.Name)
	if err == nil && !(apart <= s.problem.Bound) {
		return s.blame(s.comparing.part, "%s", device.ComparesItself(s.comparing.File, apart, s.problem.Bound))
	}
	return err
}

// compareOwn has the operator compare what lies in a folder under the names that made
// gives with the reference's, which up leads to.
func (s *session) compareOwn(ctx context.Context, dir, up string, made func(operator.Argument) string) (apart float64, err error) {
	j, err := s.job(nil)
	if err != nil {
		return 0, err
	}
	var all []jobArgument
	for i, a := range j.arguments {
		made, reference := jobArgument{Argument: a.Argument, input: made(a.Argument)}, jobArgument{Argument: a.Argument, input: up + answers.Name(a.Argument)}
		made.Role, reference.Role, reference.Name = operator.Input, operator.Input, a.Name+".reference"
		if a.input != "" {
			a.input = up + a.input
		}
		switch s.problem.Arguments[i].Role {
		case operator.Output:
			all = append(all, made, reference)
		case operator.InOut:
			a.Role, a.Name = operator.Input, a.Name+".before"
			all = append(all, made, reference, a)
		case operator.Input, operator.Weight, operator.Scalar:
			all = append(all, a)
		}
	}
	zero, err := elements.FillOf(operator.Argument{Fill: &operator.Fill{Distribution: "constant", Numbers: []float64{0}}}, "", 0)
	if err != nil {
		return 0, err
	}
	all = append(all, jobArgument{Argument: operator.Argument{Name: "error", Role: operator.InOut, Type: operator.F64, Elements: 1}, fill: zero, output: errorFile})
	if err := s.runOwn(ctx, dir, *s.comparing, all); err != nil {
		return 0, err
	}
	bits, err := os.ReadFile(filepath.Join(dir, errorFile))
	if err != nil || len(bits) != 8 {
		return 0, fmt.Errorf("emulator: what %s gives cannot be read: %w", s.comparing.File, err)
	}
	return math.Float64frombits(binary.NativeEndian.Uint64(bits)), nil
}

// compared runs one variant's program for each launch that is to be verified, and has
// the operator compare what it made. It tells how many launches were.
func (s *session) compared(ctx context.Context, dir string, v device.Variant, j job) (o trial.Outcome, launches int, err error) {
	wanted, limit, exact := max(j.check.Launches, 1), j.check.Limit, j.check.Exact
	for i, a := range j.arguments {
		j.arguments[i].output, j.arguments[i].reference = madeFile(a.Argument), ""
	}
	j.check = device.Check{}
	var first [][sha256.Size]byte
	for begin, worst := time.Now(), 0.0; launches < wanted && (launches == 0 || limit == 0 || time.Since(begin) < limit); {
		j.first = launches
		if o, err = s.compareLaunch(ctx, dir, v, j); err != nil {
			return o, launches, err
		}
		launches++
		worst = max(worst, o.MaxAbsError)
		o.MaxAbsError = worst
		if exact && wanted > 1 && o.Status == trial.OK {
			sums, err := j.sums(dir)
			if err != nil {
				return o, launches, err
			}
			if launches == 1 {
				first = sums
			} else if !slices.Equal(sums, first) {
				o.Fail(trial.WrongResult, "its output is not, bit for bit, that of the first launch")
			}
		}
		if o.Status != trial.OK {
			if wanted > 1 {
				o.Message = fmt.Sprintf("launch %d of %d: %s", launches, wanted, o.Message)
			}
			break
		}
	}
	return o, launches, nil
}

// compareLaunch runs a variant's program, which launches it once to be verified, and
// has the operator compare what that made.
func (s *session) compareLaunch(ctx context.Context, dir string, v device.Variant, j job) (trial.Outcome, error) {
	a, err := runProgram(ctx, dir, v.Binary.Code, j, sourceNames(v.Kernel.File, v.Kernel.Includes))
	if err != nil {
		return trial.Outcome{}, err
	}
	o, err := s.outcome(a)
	if err != nil || o.Status != trial.OK {
		return o, err
	}
	apart, err := s.compareOwn(ctx, dir, "../", madeFile)
	var failed *device.ReferenceError
	if errors.As(err, &failed) { // it did not with the reference's
		o.Fail(trial.WrongResult, "the comparison with the reference "+failed.Fault)
		return o, nil
	}
	if err != nil {
		return o, err
	}
	o.MaxAbsError = apart
	if !(apart <= s.problem.Bound) { // a NaN is not
		o.MaxAbsError = 0
		o.Fail(trial.WrongResult, device.TooFarApart(s.comparing.File, apart, s.problem.Bound))
	}
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
		if err != nil {
			return nil, fmt.Errorf("emulator: %w", err)
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("emulator: %w", err)
		}
		all = append(all, [sha256.Size]byte(h.Sum(nil)))
	}
	return all, nil
}
