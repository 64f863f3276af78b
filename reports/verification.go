package reports

import (
	"fmt"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/final"
)

// Verification is what became of variants that were compared with the reference.
type Verification struct {
	Problem             operator.ProblemRecord `json:"problem"`
	Device              string                 `json:"device"`
	Kind                device.Kind            `json:"kind"`
	ValidConfigurations int64                  `json:"valid_configurations"` // of the whole problem
	Part                string                 `json:"part,omitempty"`
	Conditions          device.Conditions      `json:"conditions,omitzero"` // of times
	Agree               int                    `json:"agree"`
	MaxAbsError         float64                `json:"max_abs_error"`
	Gates               *final.Gates           `json:"gates,omitempty"`    // which those that agree passed
	Warnings            []string               `json:"warnings,omitempty"` // about the operator
	Variants            []trial.Trial          `json:"variants"`
}

// VerificationOf is what a search without times found.
func VerificationOf(r *tuner.Result) Verification {
	v := Verification{
		Problem: r.Record.Problem, Device: r.Device.Name, Kind: r.Device.Kind, ValidConfigurations: r.Valid, Part: r.Part,
		Conditions: r.Protocol.Conditions, Agree: r.ByStatus[trial.OK], Gates: r.Gates, Warnings: r.Problem.Warnings(), Variants: r.Trials,
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

// Failed tells whether a variant failed.
func Failed(t trial.Trial) bool { return t.Status != trial.OK && t.Status != trial.Pruned }

// Text says of one variant all that is known, and of many what failed.
func (v Verification) Text(one bool) string {
	text, part := "", ""
	for _, t := range v.Variants {
		if one {
			text += TrialText(t, v.Kind.Properties())
		} else if Failed(t) {
			text += fmt.Sprintf("%s  %s: %s\n", t.Status, t.Configuration, t.Reason())
		}
	}
	if v.Part != "" && !one { // of one, the line above says which
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
