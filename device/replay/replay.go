// Package replay is a device that answers from a recording of an earlier search instead of running anything.
//
// A replay is exact and never pretends. It answers for the recorded problem only, and its Info names the recorded GPU
// and the day. A configuration that was never recorded is pruned rather than estimated. A kernel whose source has
// changed since brings a warning along with its recorded times.
package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/recording"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
)

// ErrProblem means that a recording was asked about a problem it does not hold.
var ErrProblem = errors.New("the recording is of another problem")

// NotRecorded is the message of a configuration that the recording lacks.
const NotRecorded = "not in the recording"

// Open makes a device of a recording. Bind problems with the limits in its
// Info: the operator's automatic choices then come out as they were recorded.
func Open(r *recording.Recording) device.Device {
	trials := make(map[string]trial.Trial, len(r.Trials))
	for _, t := range r.Trials {
		trials[recording.Key(t.Configuration)] = t
	}
	return &replayed{recording: r, trials: trials}
}

// replayed is the device. Its maps are never written after Open.
type replayed struct {
	recording *recording.Recording
	trials    map[string]trial.Trial // by recording.Key
}

// Info is the recorded device's, marked as a replay.
func (d *replayed) Info() device.Info {
	info := d.recording.Metadata.Device
	info.Kind = device.Replay
	info.RecordedAt = d.recording.Metadata.RecordedAt
	info.Recording = d.recording.File
	return info
}

func (d *replayed) Compiler() compile.Compiler { return nil }

func (d *replayed) Arch() string {
	return fmt.Sprintf("sm_%d", d.recording.Metadata.Device.Limits.Arch)
}

func (d *replayed) Open(ctx context.Context, p *operator.Problem, _ *compile.Binary, _ device.Protocol) (device.Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if problem := p.String(); problem != d.recording.Metadata.Problem.Text {
		return nil, fmt.Errorf("%w: asked for %q, but %s holds %q", ErrProblem, problem, d.recording.File, d.recording.Metadata.Problem.Text)
	}
	return &session{device: d, problem: p}, nil
}

func (d *replayed) Close() error { return nil }

// session answers for the recorded problem.
type session struct {
	device  *replayed
	problem *operator.Problem

	mu   sync.Mutex
	told []string // templates whose edit was told
}

// Ceilings are the recorded ones.
func (s *session) Ceilings() device.Ceilings { return s.device.recording.Metadata.Ceilings }

// Evaluate answers as recorded. Racing has been decided by the recorded search:
// a dropped variant comes with the samples that it had then.
func (s *session) Evaluate(ctx context.Context, v device.Variant, _ float64) (trial.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return trial.Outcome{}, err
	}
	t, found := s.device.trials[recording.Key(v.Configuration)]
	if !found {
		return trial.Outcome{Status: trial.Pruned, Message: NotRecorded}, nil
	}
	o := t.Outcome
	o.SetSamples(slices.Clone(o.SamplesMS), o.Time.Batch)
	if edited(t, v.Kernel) {
		o.Digest = t.KernelDigest
		o.Notice = s.notice(t)
	}
	return o, nil
}

// edited tells whether a kernel is another than the one that was recorded.
func edited(t trial.Trial, k operator.Kernel) bool {
	return t.KernelDigest == "" || !strings.HasPrefix(k.Digest(), t.KernelDigest)
}

// notice says that a template was edited since the recording, and with it all
// others that were; nothing if it was told.
func (s *session) notice(of trial.Trial) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.KernelDigest == "" { // another tool's, which knows no digests
		of.Template = ""
	}
	if slices.Contains(s.told, of.Template) {
		return ""
	}
	if of.Template == "" {
		s.told = append(s.told, "")
		return "the recording does not tell which kernels its times are of: they may not be the operator's of today"
	}
	names := []string{of.Template}
	seen := slices.Concat(s.told, names)
	for _, t := range s.device.recording.Trials {
		if slices.Contains(seen, t.Template) {
			continue
		}
		seen = append(seen, t.Template)
		if k, err := s.problem.Kernel(t.Configuration); err == nil && t.KernelDigest != "" && edited(t, k) {
			names = append(names, t.Template)
		}
	}
	s.told = append(s.told, names...)
	what := "the kernel " + of.Template + " was"
	if len(names) > 1 {
		last := len(names) - 1
		what = "the kernels " + strings.Join(names[:last], ", ") + " and " + names[last] + " were"
	}
	return fmt.Sprintf("%s edited since the %s: its times are of the older source", what, s.device.recording.Metadata.Origin())
}

var errRecorded = errors.New("a recording launches nothing")

// Check has no kernel to launch.
func (s *session) Check(context.Context, device.Variant, device.Check) (trial.Outcome, int, error) {
	return trial.Outcome{}, 0, errRecorded
}

// Refill has no tensors to fill.
func (s *session) Refill(context.Context, device.Inputs) error { return errRecorded }

func (s *session) Close() error { return nil }

// Conditions are the recorded ones.
func (d *replayed) Conditions() device.Conditions { return d.recording.Metadata.Protocol.Conditions }

// Configurations lists what the recording can answer for, in its order.
func (d *replayed) Configurations() []space.Configuration {
	return lists.Of(d.recording.Trials, func(t trial.Trial) space.Configuration { return t.Configuration })
}
