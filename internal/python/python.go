// Package python runs Python programs with the user's python3, in a process group that is killed at their end.
package python

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"autotune/internal/output"
	"autotune/internal/quote"
)

var ErrMissing = errors.New("there is no python3 here")

var ErrTime = errors.New("its time was up")

// EndedError says that a program ended without an answer.
type EndedError struct {
	How  string // "exit status 3", "signal: killed"
	Last string // the last line that it printed
}

// Error says how the program ended and which line it printed last.
func (e *EndedError) Error() string {
	if e.Last == "" {
		return "ended without an answer (" + e.How + ")"
	}
	return "ended without an answer (" + e.How + "): " + e.Last
}

type Program struct {
	Code    string
	Modules map[string]string // modules that the code may import, by name
	Dir     string            // the working directory
	Limit   time.Duration     // the time limit of Run
}

// text returns the code that defines the program's modules, followed by the program's own code.
func (p Program) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.Modules)) {
		const module = "import sys, types\nsys.modules[%[1]s] = types.ModuleType(%[1]s)\n" +
			"exec(compile(%[2]s, %[3]s, 'exec'), vars(sys.modules[%[1]s]))\n"
		fmt.Fprintf(&b, module, quote.Python(name), quote.Python(p.Modules[name]), quote.Python(name+".py"))
	}
	return b.String() + p.Code
}

// Run starts the Python program, sends it one job and reads the answer. Run discards what the program prints. Run
// returns ctx's error, ErrMissing, ErrTime, or an *EndedError if the program fails.
func (p Program) Run(ctx context.Context, job, answer any) error {
	limited, cancel := context.WithTimeout(ctx, p.Limit)
	defer cancel()
	c, err := p.Begin(limited)
	if err != nil {
		return err
	}
	err = c.Ask(job, answer, p.Limit)
	closed := c.Close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return ErrTime
	}
	return errors.Join(err, closed)
}

func endOf(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit status 0"
	case errors.As(err, &exit):
		return exit.String()
	}
	return err.Error()
}

func lastOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return output.Line(strings.TrimSpace(lines[len(lines)-1]))
}
