package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"autotune/space/expr"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// ErrProblem means that a recording was asked about a problem it does not hold.
var ErrProblem = errors.New("the recording is of another problem")

// NotRecorded is the message of a configuration that the recording lacks.
const NotRecorded = "not in the recording"

// Open makes a device of a recording. Bind problems with the limits in its
// Info: the operator's automatic choices then come out as they were recorded.
func Open(r *Recording) (device.Device, error) {
	if r == nil {
		return nil, errors.New("replay: no recording was given")
	}
	stamped := r.stamped()
	if err := stamped.check(); err != nil {
		return nil, fmt.Errorf("recording %s: %w", r.File, err)
	}
	results := make(map[string]Result, len(r.Results))
	for _, result := range r.Results {
		results[key(result.Configuration)] = result
	}
	return &replayed{recording: r, results: results}, nil
}

// replayed is the device. Its maps are never written after Open.
type replayed struct {
	recording *Recording
	results   map[string]Result
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
	if problem := p.String(); problem != d.recording.Metadata.Problem {
		return nil, fmt.Errorf("%w: asked for %q, but %s holds %q", ErrProblem, problem, d.recording.File, d.recording.Metadata.Problem)
	}
	return &session{device: d, warned: map[string]bool{}}, nil
}

func (d *replayed) Close() error { return nil }

// session answers for the recorded problem.
type session struct {
	device *replayed

	mu     sync.Mutex
	warned map[string]bool // templates whose edit was already told
}

// Ceilings are the recorded ones.
func (s *session) Ceilings() device.Ceilings { return s.device.recording.Metadata.Ceilings }

// Evaluate answers as recorded. Racing has been decided by the recorded search:
// a dropped variant comes with the samples that it had then.
func (s *session) Evaluate(ctx context.Context, v device.Variant, _ float64) (device.Evaluation, error) {
	if err := ctx.Err(); err != nil {
		return device.Evaluation{}, err
	}
	result, found := s.device.results[key(withTemplate(v.Configuration.Map(), v.Configuration.Template))]
	if !found {
		return device.Evaluation{Status: trial.Pruned, Message: NotRecorded}, nil
	}
	evaluation := result.Evaluation()
	if !result.matches(v.Kernel.Digest()) && s.first(v.Configuration.Template) {
		evaluation.Notice = fmt.Sprintf(
			"the kernel %s was edited since the recording: its times, %s, are of the older source",
			v.Configuration.Template, s.device.recording.Metadata.Origin())
	}
	return evaluation, nil
}

// first tells whether a template's edit is yet untold, and notes that it now is.
func (s *session) first(template string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.warned[template]
	s.warned[template] = true
	return !told
}

func (s *session) Close() error { return nil }

// Configurations lists what the recording can answer for, in its order.
func (d *replayed) Configurations() []device.RecordedConfiguration {
	var list []device.RecordedConfiguration
	for _, r := range d.recording.Results {
		c := device.RecordedConfiguration{Template: r.Template(), Values: map[string]expr.Value{}}
		for name, x := range r.Configuration {
			if name == templateKey {
				continue
			}
			if v, err := expr.FromGo(x); err == nil {
				c.Values[name] = v
			}
		}
		list = append(list, c)
	}
	return list
}
