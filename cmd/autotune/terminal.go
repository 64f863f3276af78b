package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"

	"autotune/device/compile"
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

// tableColumns is what fits any terminal.
const tableColumns = 80

// columnsOf is how wide a terminal is; 0 if the file is none.
func columnsOf(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// say prints a line on standard error. A terminal shows it broken between words and obeys nothing in it.
func say(text string) {
	text = output.Line(text)
	if columns := columnsOf(os.Stderr); columns > 0 {
		text = "\r\x1b[K" + reports.Wrap(text, columns) // a line of what is awaited may stand there
	}
	fmt.Fprintln(os.Stderr, text)
}

// tell says what a user may not expect.
func tell(notice string) { say("autotune: " + notice) }

func tellAll(notices []string) {
	for _, notice := range notices {
		tell(notice)
	}
}

// say is tell, unless the command is quiet.
func (v view) say(text string) {
	if !v.quiet {
		tell(text)
	}
}

// await begins to show what is awaited. The caller ends it.
func (v view) await(what string) *progress.Wait {
	if v.quiet || !term.IsTerminal(int(os.Stderr.Fd())) {
		return &progress.Wait{}
	}
	return progress.Await(os.Stderr, columnsOf(os.Stderr), what)
}

// progress is how a search of a title shows how it goes. Beside a block of lines a variant there is no place for a live
// line.
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

type counted struct {
	compile.Compiler
	said *progress.Wait
	done atomic.Int64
}

func (n *counted) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	b, err := n.Compiler.Compile(ctx, r)
	n.said.Now(fmt.Sprintf("compiling kernels, %d done", n.done.Add(1)))
	return b, err
}
