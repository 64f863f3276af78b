package tuner

import "autotune/device/recording"

// Recording is the search as a recording, which a replay answers from. The tool is the program that writes it.
func (r *Result) Recording(tool string) recording.Recording {
	return recording.Recording{Trials: r.Trials, Metadata: recording.Metadata{
		Tool: tool, Problem: r.Record.Problem, Device: r.Device, Protocol: r.Protocol, Ceilings: r.Ceilings,
		Valid: r.Valid, RecordedAt: r.At,
	}}
}
