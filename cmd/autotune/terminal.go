package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/reports/progress"
)

type view struct {
	quiet, verbose bool
}

func (v *view) quietFlag() flag { return boolFlag(&v.quiet, "quiet", "no progress", "q") }

func (v *view) verboseFlag() flag {
	return boolFlag(&v.verbose, "verbose",
		"print every variant as it is done: status, registers, time, compiler's output", "v")
}

// tableColumns is the width of tables, which fits in any terminal.
const tableColumns = 80

// columnsOf returns the width of a terminal in columns, or 0 if the file is not a terminal.
func columnsOf(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// say prints a line on standard error, without control characters. If standard error is a terminal, say wraps the line
// between words.
func say(text string) {
	text = output.Line(text)
	if columns := columnsOf(os.Stderr); columns > 0 {
		text = "\r\x1b[K" + reports.Wrap(text, columns) // erases a line that await may have shown
	}
	fmt.Fprintln(os.Stderr, text)
}

// tell prints a notice about something that the user may not expect.
func tell(notice string) { say("autotune: " + notice) }

func tellAll(notices []string) {
	for _, notice := range notices {
		tell(notice)
	}
}

// say prints a notice unless the command is quiet.
func (v view) say(text string) {
	if !v.quiet {
		tell(text)
	}
}

// await shows in the terminal what the command is waiting for. The caller must call Done of the returned Wait.
func (v view) await(what string) *progress.Wait {
	if v.quiet || !term.IsTerminal(int(os.Stderr.Fd())) {
		return &progress.Wait{}
	}
	return progress.Await(os.Stderr, columnsOf(os.Stderr), what)
}

// progress returns the display for a search's progress, with the given title. If the command prints a block of lines
// for each variant, the display has no line that is updated in place.
func (v view) progress(title string) progress.Progress {
	if v.quiet {
		return progress.Lines(io.Discard)
	}
	say(title)
	if term.IsTerminal(int(os.Stderr.Fd())) && !v.verbose {
		return progress.Bar(os.Stderr)
	}
	return progress.Lines(os.Stderr)
}

func (v view) many(problems int) *progress.Many {
	if v.quiet || problems == 1 {
		return progress.NewMany(nil, problems)
	}
	return progress.NewMany(say, problems)
}
