package tuner

import "autotune/device/recording"

// Recording returns the trials of the search as a recording, which can be replayed. The argument `tool` is the name and
// version of the program that writes the recording.
func (r *Result) Recording(tool string) recording.Recording {
	return recording.Recording{Trials: r.Trials, Metadata: recording.Metadata{
		Tool: tool, Problem: r.Record.Problem, Device: r.Device, Protocol: r.Protocol, Ceilings: r.Ceilings,
		Valid: r.Valid, RecordedAt: r.At,
	}}
}
