// Package python runs programs in the python3 of whoever runs this one, in a process
// group that ends with them.
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

// EndedError is a program that ended without an answer.
type EndedError struct {
	How  string // "exit status 3", "signal: killed"
	Last string // the last line that it printed
}

// Error tells how, and what it said.
func (e *EndedError) Error() string {
	if e.Last == "" {
		return "ended without an answer (" + e.How + ")"
	}
	return "ended without an answer (" + e.How + "): " + e.Last
}

type Program struct {
	Code    string
	Modules map[string]string // by name, that the code may import
	Dir     string            // where it runs
	Limit   time.Duration     // of a Run
}

// text is the code behind its modules.
func (p Program) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.Modules)) {
		const module = "import sys, types\nsys.modules[%[1]s] = types.ModuleType(%[1]s)\n" +
			"exec(compile(%[2]s, %[3]s, 'exec'), vars(sys.modules[%[1]s]))\n"
		fmt.Fprintf(&b, module, quote.Python(name), quote.Python(p.Modules[name]), quote.Python(name+".py"))
	}
	return b.String() + p.Code
}

// Run hands one job to the program and reads its answer. What it prints disturbs nobody.
// The error is ctx's, ErrMissing, ErrTime or an *EndedError where the program is to blame.
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
