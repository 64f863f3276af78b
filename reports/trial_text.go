package reports

import (
	"fmt"
	"strings"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
)

// TrialText is all that is known of a trial, as a block of lines.
func TrialText(t trial.Trial, kind device.Properties) string {
	lines := append(t.Launches.Lines(), resourcesText(t.Resources))
	if t.Status == trial.OK { // else its message says more
		lines = append(lines, timeText(t, kind), fmt.Sprintf("largest error %.3g", t.MaxAbsError))
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

// compilerWords is why a trial failed, and what the compiler said. What the log says as
// well, behind the place, is not said twice.
func compilerWords(t trial.Trial) string {
	message, log := strings.TrimSpace(t.Message), strings.TrimSpace(t.Log)
	_, said, _ := strings.Cut(t.Reason(), ": ")
	if message == "" || t.Status == trial.CompileError && said != "" && strings.Contains(log, said) {
		return log
	}
	return message + "\n" + log
}

// resourcesText is "" where the device does not tell.
func resourcesText(r trial.Resources) string {
	if r.Registers == 0 {
		return ""
	}
	return fmt.Sprintf("%d registers, %d bytes of spills and stack, %d bytes shared, occupancy %.0f %%",
		r.Registers, r.LocalBytes, r.SharedBytes, 100*r.Occupancy)
}

func timeText(t trial.Trial, kind device.Properties) string {
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
