package recording

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/space"
)

// ErrProblem means that the recording is of another problem than the requested one.
var ErrProblem = errors.New("the recording is of another problem")

// NotRecorded is the message of a configuration that the recording lacks.
const NotRecorded = "not in the recording"

// Replay makes a device that answers from a recording instead of running kernels. The Info of the replaying device
// names the recorded GPU and the day of the recording. A configuration that was not recorded gets the status pruned
// instead of an estimated time. If a kernel's source has changed since the recording, its recorded times come with a
// notice. Callers should bind problems with the limits in the Info of the replaying device, so that the operator's
// automatic choices are those of the recorded search.
func Replay(r *Recording) device.Device {
	trials := make(map[string]trial.Trial, len(r.Trials))
	for _, t := range r.Trials {
		trials[Key(t.Configuration)] = t
	}
	return &replayed{recording: r, trials: trials}
}

// replayed is a device that answers from a recording. The recording and the map of trials are not changed after Replay
// has returned.
type replayed struct {
	recording *Recording
	trials    map[string]trial.Trial // by Key
}

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
	return &session{device: d}, nil
}

func (d *replayed) Close() error { return nil }

type session struct {
	device *replayed

	mu      sync.Mutex
	noticed []string // templates whose edit was reported
}

func (s *session) Ceilings() device.Ceilings { return s.device.recording.Metadata.Ceilings }

// Evaluate returns the recorded outcome. Evaluate ignores the best time, because the recorded search has already
// decided which variants were dropped early, and after how many samples.
func (s *session) Evaluate(ctx context.Context, v device.Variant, _ float64) (trial.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return trial.Outcome{}, err
	}
	t, found := s.device.trials[Key(v.Configuration)]
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

// edited reports whether a kernel differs from the recorded one.
func edited(t trial.Trial, k operator.Kernel) bool {
	return t.KernelDigest == "" || !strings.HasPrefix(k.Digest(), t.KernelDigest)
}

// notice returns, once per template, the notice that the template was edited after it was recorded.
func (s *session) notice(of trial.Trial) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of.KernelDigest == "" { // another tool's recording, which has no digests
		of.Template = ""
	}
	if slices.Contains(s.noticed, of.Template) {
		return ""
	}
	s.noticed = append(s.noticed, of.Template)
	if of.Template == "" {
		return "the recording does not tell which kernels its times are of: they may not be the operator's of today"
	}
	return fmt.Sprintf("the kernel %s was edited since the %s: its times are of the older source", of.Template,
		s.device.recording.Metadata.Origin())
}

var errRecorded = errors.New("a recording launches nothing")

func (s *session) Check(context.Context, device.Variant, device.Check) (trial.Outcome, int, error) {
	return trial.Outcome{}, 0, errRecorded
}

func (s *session) Refill(context.Context, device.Inputs) error { return errRecorded }
func (s *session) Close() error                                { return nil }
func (d *replayed) Conditions() device.Conditions              { return d.recording.Metadata.Protocol.Conditions }

func (d *replayed) Configurations() []space.Configuration {
	return lists.Of(d.recording.Trials, func(t trial.Trial) space.Configuration { return t.Configuration })
}
