package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/space"
	"autotune/tuner/devices"
)

type spaceFlags struct {
	problem      problemFlags
	device       deviceFlags
	file         string
	list, asJSON bool
	sample       int
	seed         uint64
}

func spaceCommand() *cli.Command {
	var f spaceFlags
	return command("space OPERATOR",
		"count, list or sample the valid configurations of a problem or of a space file", "",
		f.space, slices.Concat(f.problem.flags(), f.problem.only.flags(), []flag{f.device.flag(""),
			textFlag(&f.file, "file", "", "a space `FILE` (JSON of params and constraints) in place of an operator"),
			boolFlag(&f.list, "list", "in place of the counts, print every valid configuration"),
			intFlag(&f.sample, "sample", 0, "in place of the counts, print `N` drawn uniformly, without replacement"),
			seedFlag(&f.seed, "`SEED` of --sample"),
			boolFlag(&f.asJSON, "json", "print JSON"),
		})...)
}

type namedSpace struct {
	Name      string  `json:"name,omitempty"`
	Cartesian float64 `json:"cartesian"`
	Valid     int64   `json:"valid"`
	Seconds   float64 `json:"seconds"`
	Limits    string  `json:"limits,omitempty"` // the GPU that the limits belong to
	space     *space.Space
}

func (f *spaceFlags) space(ctx context.Context, l line) (err error) {
	if sampled := l.given("sample"); sampled && f.sample < 1 {
		return fmt.Errorf("--sample %d: want a positive number", f.sample)
	} else if sampled && f.list {
		return errors.New("--list and --sample: one at a time")
	}
	var spaces []namedSpace
	if f.file != "" {
		spaces, err = f.ofFile(ctx, l)
	} else {
		spaces, err = f.ofOperator(ctx, l)
	}
	if err != nil {
		return err
	}
	if !f.list && f.sample == 0 {
		return f.printCounts(spaces)
	}
	for _, s := range spaces {
		n, at := s.Valid, func(i int64) int64 { return i }
		if f.sample > 0 {
			drawn := s.space.Sample(rand.New(rand.NewPCG(f.seed, 0)), f.sample)
			n, at = int64(len(drawn)), func(i int64) int64 { return drawn[i] }
		}
		if err := f.printConfigurations(ctx, s.space, n, at); err != nil {
			return err
		}
	}
	return nil
}

func (f *spaceFlags) ofFile(ctx context.Context, l line) ([]namedSpace, error) {
	switch {
	case len(l.arguments) > 0:
		return nil, errors.New("give an operator or --file, not both")
	case f.problem.only.templates != nil || f.problem.only.where != nil:
		return nil, errors.New("--template and --where are for an operator's space; a file has its own constraints")
	case f.problem.given() || f.device.device != "auto":
		return nil, errors.New("--file is a space of its own; leave --shape, --set, --math and --device away")
	}
	published, err := input.File(ctx, f.file, space.ReadPublished)
	if err != nil {
		return nil, err
	}
	var spaces []namedSpace
	for _, p := range published {
		said := view{}.await("building the space " + p.Name)
		s, err := built(p.Name, func() (*space.Space, error) { return space.New(ctx, p.Part) })
		said.Done()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.file, err)
		}
		spaces = append(spaces, s)
	}
	return spaces, nil
}

func (f *spaceFlags) ofOperator(ctx context.Context, l line) ([]namedSpace, error) {
	op, err := operatorArgument(l)
	if err != nil {
		return nil, err
	}
	spec, err := devices.Parse(f.device.device)
	if err != nil {
		return nil, err
	}
	request, err := f.problem.exampleRequest(op)
	if err != nil {
		return nil, err
	}
	problem, limits, err := devices.Bind(ctx, spec, op, request)
	if err != nil {
		return nil, err
	}
	part, err := problem.Part(request.Only)
	if err != nil {
		return nil, err
	}
	said := view{}.await("building the space of " + problem.String())
	defer said.Done()
	s, err := built(problem.String(), func() (*space.Space, error) { return part.Space(ctx) })
	s.Limits = limits
	return []namedSpace{s}, err
}

func built(name string, build func() (*space.Space, error)) (namedSpace, error) {
	start := time.Now()
	s, err := build()
	if err != nil {
		return namedSpace{}, err
	}
	return namedSpace{Name: name, Cartesian: s.Cartesian(), Valid: s.Len(), Seconds: time.Since(start).Seconds(),
		space: s}, nil
}

func (f *spaceFlags) printCounts(spaces []namedSpace) error {
	switch {
	case f.asJSON && len(spaces) == 1:
		return printJSON(stdout, spaces[0])
	case f.asJSON:
		return printJSON(stdout, spaces)
	}
	w := columns(stdout)
	for _, s := range spaces {
		if s.Name != "" {
			fmt.Fprintln(w, s.Name)
		}
		fmt.Fprintf(w, "cartesian\t%.0f\nvalid\t%d\nseconds\t%.6f\n", s.Cartesian, s.Valid, s.Seconds)
		if s.Limits != "" {
			fmt.Fprintf(w, "limits of\t%s\n", s.Limits)
		}
	}
	return w.Flush()
}

// printConfigurations prints the n configurations whose indexes the function at returns, or stops when ctx ends.
func (f *spaceFlags) printConfigurations(ctx context.Context, s *space.Space, n int64, at func(int64) int64) error {
	for i := range n {
		err := ctx.Err()
		if configuration := s.At(at(i)); err == nil && f.asJSON {
			err = printJSON(stdout, configuration.Flat())
		} else if err == nil {
			_, err = fmt.Fprintln(stdout, configuration)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// columns returns a writer that aligns the cells of lines, which tabs separate.
func columns(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }
