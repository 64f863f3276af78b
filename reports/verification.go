package reports

import (
	"fmt"
	"strings"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/final"
)

// Verification is the outcome of comparing variants with the reference.
type Verification struct {
	Problem             operator.ProblemRecord `json:"problem"`
	Device              string                 `json:"device"`
	Kind                device.Kind            `json:"kind"`
	ValidConfigurations int64                  `json:"valid_configurations"` // in the whole problem
	Part                string                 `json:"part,omitempty"`
	Conditions          device.Conditions      `json:"conditions,omitzero"` // conditions of the timing
	Agree               int                    `json:"agree"`
	MaxAbsError         float64                `json:"max_abs_error"`
	Gates               *final.Gates           `json:"gates,omitempty"`    // gates that the correct variants passed
	Warnings            []string               `json:"warnings,omitempty"` // warnings about the operator
	Variants            []trial.Trial          `json:"variants"`
}

// VerificationOf summarizes the result of a search that checked results and did not measure times.
func VerificationOf(r *tuner.Result, warnings []string) Verification {
	v := Verification{
		Problem: r.Record.Problem, Device: r.Device.Name, Kind: r.Device.Kind, ValidConfigurations: r.Valid, Part: r.Part,
		Conditions: r.Protocol.Conditions, Agree: r.ByStatus[trial.OK], Gates: r.Gates, Warnings: warnings, Variants: r.Trials,
	}
	for _, t := range r.Trials {
		if t.Status == trial.OK {
			v.MaxAbsError = max(v.MaxAbsError, t.MaxAbsError)
		}
	}
	if alone := r.Gates.Warning(); alone != "" {
		v.Warnings = append(v.Warnings, alone)
	}
	return v
}

func Failed(t trial.Trial) bool { return t.Status != trial.OK && t.Status != trial.Pruned }

// Text lists the variants that failed or, if the argument one says that only one variant was verified, everything that
// is known about that variant.
func (v Verification) Text(one bool) string {
	text, part := "", ""
	for _, t := range v.Variants {
		if one {
			text += TrialText(t, v.Kind.Properties())
		} else if Failed(t) {
			text += fmt.Sprintf("%s  %s: %s\n", t.Status, t.Configuration, t.Reason())
		}
	}
	if v.Part != "" && !one { // the variant's own line names its part
		part = "; only " + v.Part
	}
	if v.Gates != nil {
		text += fmt.Sprintf("gates passed: %s\n", v.Gates)
	}
	if unusual := v.Conditions.Unusual(); one && unusual != "" {
		text += "timed: " + unusual + "\n"
	}
	for _, warning := range v.Warnings {
		text += "warning: " + warning + "\n"
	}
	return text + fmt.Sprintf("%d of %d variants agree with the reference (%d valid configurations%s); largest error "+
		"%.3g\n",
		v.Agree, len(v.Variants), v.ValidConfigurations, part, v.MaxAbsError)
}

// TrialText returns everything that is known about a trial, as a block of lines.
func TrialText(t trial.Trial, kind device.Properties) string {
	lines := append(t.Launches.Lines(), resourcesText(t.Resources))
	if t.Status == trial.OK { // a failed trial has a message instead
		lines = append(lines, trialTime(t, kind), fmt.Sprintf("largest error %.3g", t.MaxAbsError))
	}
	lines = append(lines, phasesText(t.Phases))
	lines = append(lines, lists.Of(t.Warnings, func(warning trial.Warning) string {
		return "warning: " +
			warning.String()
	})...)
	lines = append(lines, strings.Split(compilerWords(t), "\n")...)
	text := fmt.Sprintf("%-14s%s\n", t.Status, t.Configuration)
	for _, line := range lines {
		if line = strings.TrimRight(line, " \r"); line != "" {
			text += "    " + line + "\n"
		}
	}
	return text
}

// compilerWords returns why a trial failed, and the compiler's log. If the compiler's log contains the trial's error
// message, compilerWords returns only the log.
func compilerWords(t trial.Trial) string {
	message, log := strings.TrimSpace(t.Message), strings.TrimSpace(t.Log)
	_, said, _ := strings.Cut(t.Reason(), ": ")
	if message == "" || t.Status == trial.CompileError && said != "" && strings.Contains(log, said) {
		return log
	}
	return message + "\n" + log
}

// resourcesText returns a kernel's registers, spills, shared memory and occupancy, or "" if they are not known.
func resourcesText(r trial.Resources) string {
	if r.Registers == 0 {
		return ""
	}
	return fmt.Sprintf("%d registers, %d bytes of spills and stack, %d bytes shared, occupancy %.0f %%",
		r.Registers, r.LocalBytes, r.SharedBytes, 100*r.Occupancy)
}

func trialTime(t trial.Trial, kind device.Properties) string {
	text := FormatMS(t.Time.Median)
	if t.Time.Samples > 1 {
		text += fmt.Sprintf(", 95 %% interval %s to %s, %d samples", FormatMS(t.Time.CI95[0]), FormatMS(t.Time.CI95[1]),
			t.Time.Samples)
	}
	if t.Dropped {
		text += ", dropped early"
	}
	if kind.Caveat != "" {
		text += ", " + kind.Caveat
	}
	return text
}

func phasesText(p trial.Phases) string {
	var parts []string
	for _, phase := range []struct {
		what string
		ms   float64
	}{{"compiled", p.CompileMS}, {"verified", p.VerifyMS}, {"timed", p.MeasureMS}} {
		if phase.ms > 0 {
			parts = append(parts, fmt.Sprintf("%s in %.3g s", phase.what, phase.ms/1000))
		}
	}
	return strings.Join(parts, ", ")
}
