package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"autotune/device"
	"autotune/device/answers"
	"autotune/device/elements"
	"autotune/device/trial"
	"autotune/device/verify"
	"autotune/internal/lists"
	"autotune/operator"
)

type session struct {
	prepared
	proto  device.Protocol
	closed bool
}

// newSession compiles all kernels of a problem other than its variants before it uses the GPU. Compiling early lets a
// compiler that gets its binaries from another process request all of these binaries at once.
func (p *processor) newSession(ctx context.Context, problem *operator.Problem, proto device.Protocol) (*session, error) {
	fills, err := elements.FillsOf(problem.Arguments, proto.Distribution, proto.Seed)
	if err != nil {
		return nil, err
	}
	failures := lists.Of(Kernels(problem.Arguments), func(k operator.Kernel) error { return p.compileOwn(ctx, k) })
	parts, err := verify.Compile(ctx, p.Options.Compiler, p.Target, problem)
	if err := errors.Join(append(failures, err)...); err != nil {
		return nil, err
	}
	if err := checkParts(p.driver, parts, problem.Arguments); err != nil {
		return nil, err
	}
	return &session{proto: proto, prepared: prepared{device: p, problem: problem, inputs: proto.Inputs(), fills: fills, own: own{parts: parts}}}, nil
}

func (s *session) Ceilings() device.Ceilings { return s.ceilings }

// Evaluate verifies and times a variant. Any failure of the variant is a status in its outcome.
func (s *session) Evaluate(_ context.Context, v device.Variant, best float64) (o trial.Outcome, err error) {
	if wrong := mismatch(s.device.driver, v.Binary, v.Kernel, s.problem.Arguments); wrong != "" {
		return trial.Outcome{Status: trial.LaunchError, Message: wrong}, nil
	}
	err = s.use(func() error {
		begin := time.Now()
		o, err = s.withVariant(v, func(loaded variant, o trial.Outcome) (trial.Outcome, error) {
			return s.evaluate(loaded, best, begin, o)
		})
		return err
	})
	return o, err
}

// Check launches a variant as often as the check c asks, verifies everything after each launch, and stops at the first
// wrong launch.
func (s *session) Check(ctx context.Context, v device.Variant, c device.Check) (o trial.Outcome, launches int, err error) {
	err = s.use(func() error {
		o, err = s.withVariant(v, func(loaded variant, able trial.Outcome) (o trial.Outcome, err error) {
			o, launches, err = verify.Repeat(c, func(before int) (trial.Outcome, []uint64, error) {
				return s.checkOnce(loaded, preparation(before)%preparations, able)
			})
			if err == nil && o.Status == trial.OK && c.Leave != "" {
				if err = s.leave(c.Leave); err != nil {
					return failed(trial.Outcome{}, err, s.proto.LaunchTimeout) // a full disk must not end the search
				}
			}
			if err == nil && o.Status == trial.OK && c.Changes {
				return s.checkChanged(ctx, loaded, able)
			}
			return o, err
		})
		return err
	})
	return o, launches, err
}

// checkChanged changes a few elements of the inputs, launches the variant once more, and restores the inputs.
func (s *session) checkChanged(ctx context.Context, v variant, able trial.Outcome) (o trial.Outcome, err error) {
	s.changes = rand.Uint32() | 1 // a seed that no kernel can predict
	if err = s.refresh(ctx, v); err == nil {
		o, _, err = s.checkOnce(v, poisoned, able)
		if o.Message != "" {
			o.Message = verify.Changed + o.Message
		}
	}
	s.changes = 0
	if isLost(err) {
		return o, err // a new process will restore everything
	}
	if err = errors.Join(err, s.refresh(ctx, v)); err != nil && o.Status == "" {
		o.Fail(trial.LaunchError, err.Error()) // err itself is the operator's fault, or the device's
	}
	return o, err
}

// refresh fills the inputs anew for a loaded variant, and computes the right answers for them.
func (s *session) refresh(ctx context.Context, v variant) error {
	err := s.fillInputs()
	if err == nil {
		err = s.tensors.copySymbols(v.module)
	}
	if err == nil {
		err = s.learnAnswers(ctx)
	}
	return err
}

// leave writes the tensors that a launch read or wrote into files of a folder.
func (s *session) leave(dir string) (err error) {
	t := &s.tensors
	for i, a := range s.problem.Arguments {
		if err == nil && a.Role.Filled() && a.Elements > 0 {
			err = t.writeFile(filepath.Join(dir, answers.InputName(a)), t.start(i), a)
		}
		if err == nil && a.Role.Compared() && a.Elements > 0 {
			err = t.writeFile(filepath.Join(dir, answers.OutputName(a)), t.data[i], a)
		}
	}
	return err
}

func (s *session) use(work func() error) error {
	if s.closed {
		return errors.New("the session is closed")
	}
	return s.device.do(func() error {
		if !s.checks.judge.Known() {
			return errors.New("it is not known what is right")
		}
		return work()
	})
}

// withVariant loads a variant, checks that it can be launched, and calls work. An error that the variant causes becomes
// the status of its outcome.
func (s *session) withVariant(v device.Variant, work func(variant, trial.Outcome) (trial.Outcome, error)) (o trial.Outcome, err error) {
	loaded, err := s.tensors.loadVariant(v.Binary, v.Kernel)
	if err != nil {
		return failed(o, err, s.proto.LaunchTimeout)
	}
	if loaded.fit(&o) {
		if o, err = work(loaded, o); err != nil && o.Status == "" {
			o, err = failed(o, err, s.proto.LaunchTimeout)
		}
	}
	if !isLost(err) { // else the driver would wait for a kernel that never ends
		loaded.unload()
	}
	return o, err
}

func (s *session) evaluate(v variant, best float64, begin time.Time, o trial.Outcome) (trial.Outcome, error) {
	launchMS, found, err := s.verify(v, poisoned)
	o.Phases.VerifyMS = trial.MS(time.Since(begin))
	if err != nil || found.Any() {
		return s.judged(o, "", found, err)
	}
	o.MaxAbsError = found.LargestError
	begin = time.Now()
	m := measuring{timer: s.checks.timer, tensors: &s.tensors, proto: s.proto, ceilings: s.ceilings}
	m.forget = func() { s.checks.poison(elements.Poison) }
	launched, err := m.measure(v, best, launchMS, &o)
	o.Phases.MeasureMS = trial.MS(time.Since(begin))
	if err == nil && launched {
		begin = time.Now()
		found, err = s.checks.inspect()
		o.Phases.VerifyMS += trial.MS(time.Since(begin))
	}
	if err == nil && !found.Any() && launched && !o.Dropped && (best == 0 || o.Time.Median <= best) {
		begin = time.Now()
		var skips string
		if skips, found, err = s.prove(m, v, o.Time); skips != "" && !found.Any() {
			found.Complaints = []string{skips}
		}
		o.Phases.VerifyMS += trial.MS(time.Since(begin))
	}
	return s.judged(o, verify.Timed, found, err)
}

func (s *session) checkOnce(v variant, before preparation, o trial.Outcome) (trial.Outcome, []uint64, error) {
	_, found, err := s.verify(v, before)
	if o, err = s.judged(o, "", found, err); err != nil && o.Status == "" {
		o, err = failed(o, err, s.proto.LaunchTimeout)
	}
	return o, found.Sums, err
}

// verify launches the variant once, on outputs that the given preparation has filled, and checks everything that the
// launch wrote. The time that verify returns includes the extra cost of a first launch.
func (s *session) verify(v variant, before preparation) (launchMS float64, f verify.Findings, err error) {
	s.checks.prepare(before)
	s.checks.queue(0, func() { v.launch(1) })
	s.checks.queueChecks(s.tensors.data)
	ms, err := s.checks.times(1, s.proto.LaunchTimeout)
	if err != nil {
		return 0, f, err
	}
	f, err = s.checks.findings()
	return ms[0], f, err
}

// judged returns the outcome of a checked variant, and restores the memory that the variant damaged. If judged returns
// an error, the device has failed.
func (s *session) judged(o trial.Outcome, when string, f verify.Findings, err error) (trial.Outcome, error) {
	if err != nil {
		return o, err
	}
	o.Status, o.MaxAbsError = trial.OK, max(o.MaxAbsError, f.LargestError)
	if !f.Any() {
		return o, nil
	}
	o.Status, o.Message = trial.WrongResult, when+strings.Join(f.Complaints, "; ")
	if f.Lost {
		return o, device.ErrLost // a new process will restore everything
	}
	if f.Guards {
		s.checks.fillGuards()
	}
	if f.Inputs {
		return o, s.fillInputs()
	}
	return o, s.gpu.Err()
}

// failed turns an error into a status, and also returns an error if the context is gone.
func failed(o trial.Outcome, err error, limit time.Duration) (trial.Outcome, error) {
	switch {
	case errors.Is(err, errLate):
		o.Status, o.Message = trial.Timeout, fmt.Sprintf("a launch ran for more than %v", limit)
	case isLost(err):
		o.Status, o.Message = trial.Crashed, fmt.Sprintf("the kernel faulted: %v", err)
	default:
		o.Status, o.Message, err = trial.LaunchError, err.Error(), nil
	}
	return o, err
}

func (s *session) Refill(ctx context.Context, in device.Inputs) error {
	fills, err := elements.FillsOf(s.problem.Arguments, in.Distribution, in.Seed)
	if err != nil {
		return err
	}
	if s.closed {
		return errors.New("the session is closed")
	}
	return s.device.do(func() error {
		s.fills, s.inputs = fills, in
		if err := s.fillInputs(); err != nil {
			return err
		}
		return s.learnAnswers(ctx)
	})
}

func (s *session) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.device.do(s.gpu.free)
	if errors.Is(err, device.ErrLost) {
		err = nil // the memory went with the context
	}
	return errors.Join(err, s.removeFolder())
}
