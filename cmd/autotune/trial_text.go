package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner/device"
	"autotune/tuner/trial"
)

func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print every variant as it is done: status, registers, time, all of the compiler's words"}
}

// writeTrial writes all that is known of a trial, as a block of lines.
func writeTrial(w io.Writer, t trial.Trial, kind device.Properties) error {
	lines := append(t.Launches.Lines(),
		resourcesText(t.Resources), timeText(t, kind), errorText(t), phasesText(t.Phases),
	)
	for _, warning := range t.Warnings {
		lines = append(lines, "warning: "+warning.String())
	}
	lines = append(lines, strings.Split(wordsOf(t), "\n")...)
	text := fmt.Sprintf("%-14s%s\n", t.Status, t.Configuration)
	for _, line := range lines {
		if line = strings.TrimRight(line, " \r"); line != "" {
			text += "    " + line + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// wordsOf is why a trial failed, and what the compiler said. What the log says as
// well, behind the place, is not said twice.
func wordsOf(t trial.Trial) string {
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
	if t.Status != trial.OK {
		return ""
	}
	text := reports.FormatMS(t.Time.Median)
	if t.Time.Samples > 1 {
		text += fmt.Sprintf(", 95 %% interval %s to %s, %d samples", reports.FormatMS(t.Time.CI95[0]), reports.FormatMS(t.Time.CI95[1]), t.Time.Samples)
	}
	if t.Dropped {
		text += ", dropped early"
	}
	if kind.Caveat != "" {
		text += ", " + kind.Caveat
	}
	return text
}

func errorText(t trial.Trial) string {
	if t.Status != trial.OK {
		return "" // its message says more
	}
	return fmt.Sprintf("largest error %.3g", t.MaxAbsError)
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
