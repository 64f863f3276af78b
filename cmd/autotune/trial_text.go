package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/reports"
)

func verboseFlag() cli.Flag {
	return &cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print every variant as it is done: status, registers, time, all of the compiler's words"}
}

// trialText is all that is known of a trial, as a block of lines.
func trialText(t trial.Trial, kind device.Properties) string {
	lines := append(t.Launches.Lines(), resourcesText(t.Resources))
	if t.Status == trial.OK { // else its message says more
		lines = append(lines, timeText(t, kind), fmt.Sprintf("largest error %.3g", t.MaxAbsError))
	}
	lines = append(lines, phasesText(t.Phases))
	lines = append(lines, lists.Of(t.Warnings, func(warning trial.Warning) string { return "warning: " + warning.String() })...)
	lines = append(lines, strings.Split(wordsOf(t), "\n")...)
	text := fmt.Sprintf("%-14s%s\n", t.Status, t.Configuration)
	for _, line := range lines {
		if line = strings.TrimRight(line, " \r"); line != "" {
			text += "    " + line + "\n"
		}
	}
	return text
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

// The look of the finished text decides what is coloured. So its writers need not know
// of colours, nor count their bytes.
var paints = []struct {
	text  *regexp.Regexp
	color string // as the terminal takes it, between ESC [ and m
}{
	{regexp.MustCompile(`(?m)^winner .*(?:\n {12}.*)*`), "1"},
	{regexp.MustCompile(`(?m)^ok\b`), "32"},
	{regexp.MustCompile(`(?m)(?:^|\b[0-9]+ )(?:compile_error|launch_error|wrong_result|timeout|crashed)\b`), "31"},
	{regexp.MustCompile(`(?m)^ *warnings?\b`), "33"},
}

var colorWords = []string{"auto", "always", "never"}

func colorFlag() cli.Flag {
	return &cli.StringFlag{Name: "color", Value: "auto", Usage: "`WHEN` to use colours: auto (in a terminal, unless NO_COLOR is set), always or never"}
}

func checkColor(c *cli.Context) error { return oneOf("--color", c.String("color"), colorWords) }

// painted writes to out in colours, if they are wanted there, and nothing else
// that a terminal obeys. A write must hold whole lines.
func painted(c *cli.Context, out *os.File) io.Writer {
	if wantsColor(c.String("color"), os.Getenv, term.IsTerminal(int(out.Fd()))) {
		return output.Plain(painter{out})
	}
	return output.Plain(out)
}

// wantsColor follows what the flag says, and without it the user's environment:
// no-color.org and bixense.com/clicolors.
func wantsColor(when string, env func(string) string, terminal bool) bool {
	force := env("CLICOLOR_FORCE")
	switch {
	case when == "always" || when == "never":
		return when == "always"
	case env("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal && env("TERM") != "dumb"
}

type painter struct{ out io.Writer }

func (p painter) Write(text []byte) (int, error) {
	colored := text
	for _, paint := range paints {
		colored = paint.text.ReplaceAll(colored, []byte("\x1b["+paint.color+"m$0\x1b[0m"))
	}
	if _, err := p.out.Write(colored); err != nil {
		return 0, err
	}
	return len(text), nil
}
