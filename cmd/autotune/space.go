package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"autotune/internal/input"
	"autotune/space"
	"autotune/tuner/devices"
)

func spaceCommand() *cli.Command {
	return &cli.Command{
		Name:      "space",
		Usage:     "count, list or sample the valid configurations of a problem or of a space file",
		ArgsUsage: "OPERATOR",
		Flags: slices.Concat(problemFlags(), partFlags(), []cli.Flag{deviceFlag(),
			&cli.StringFlag{Name: "file", Usage: "a space `FILE` (JSON of params and constraints) in place of an operator"},
			&cli.BoolFlag{Name: "count", Usage: "print the counts (the default)"},
			&cli.BoolFlag{Name: "list", Usage: "print every valid configuration"},
			&cli.IntFlag{Name: "sample", Usage: "print `N` configurations drawn uniformly, without replacement"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "`SEED` of --sample"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
		}),
		Action: spaceAction,
	}
}

// namedSpace is a space with how long it took to build.
type namedSpace struct {
	Name      string  `json:"name,omitempty"`
	Cartesian float64 `json:"cartesian"`
	Valid     int64   `json:"valid"`
	Seconds   float64 `json:"seconds"`
	Limits    string  `json:"limits,omitempty"` // whose they are
	space     *space.Space
}

func spaceAction(c *cli.Context) error {
	if c.IsSet("sample") && c.Int("sample") < 1 {
		return fmt.Errorf("--sample %d: want a positive number", c.Int("sample"))
	}
	forms := slices.DeleteFunc([]string{"count", "list", "sample"}, func(name string) bool { return !c.IsSet(name) })
	if len(forms) > 1 {
		return fmt.Errorf("--%s: one at a time", strings.Join(forms, " and --"))
	}
	var spaces []namedSpace
	var err error
	if c.IsSet("file") {
		spaces, err = spacesOfFile(c)
	} else {
		spaces, err = spaceOfOperator(c)
	}
	if err != nil {
		return err
	}
	for _, s := range spaces {
		switch {
		case c.Bool("list"):
			err = printConfigurations(c, s.space, s.Valid, func(i int64) int64 { return i })
		case c.IsSet("sample"):
			rng := rand.New(rand.NewPCG(c.Uint64("seed"), 0))
			drawn := s.space.Sample(rng, c.Int("sample"))
			err = printConfigurations(c, s.space, int64(len(drawn)), func(i int64) int64 { return drawn[i] })
		default:
			return printCounts(c, spaces)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func spacesOfFile(c *cli.Context) ([]namedSpace, error) {
	path := c.String("file")
	if c.Args().Present() {
		return nil, errors.New("give an operator or --file, not both")
	}
	if c.IsSet("template") || c.IsSet("where") {
		return nil, errors.New("--template and --where are for an operator's space; a file has its own constraints")
	}
	if c.IsSet("shape") || c.IsSet("set") || c.IsSet("math") || c.IsSet("free") || c.IsSet("device") {
		return nil, errors.New("--file is a space of its own; leave --shape, --set, --math and --device away")
	}
	published, err := input.File(c.Context, path, space.ReadPublished)
	if err != nil {
		return nil, err
	}
	var spaces []namedSpace
	for _, p := range published {
		said := await(c, "building the space "+p.Name)
		s, err := built(p.Name, func() (*space.Space, error) { return space.New(c.Context, p.Part) })
		said.done()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		spaces = append(spaces, s)
	}
	return spaces, nil
}

func spaceOfOperator(c *cli.Context) ([]namedSpace, error) {
	op, err := operatorArgument(c)
	if err != nil {
		return nil, err
	}
	spec, err := devices.Parse(c.String("device"))
	if err != nil {
		return nil, err
	}
	request, err := exampleRequest(c, op, c.String("shape"))
	if err != nil {
		return nil, err
	}
	problem, limits, err := devices.Bind(c.Context, spec, op, request)
	if err != nil {
		return nil, err
	}
	part, err := problem.Part(request.Only)
	if err != nil {
		return nil, err
	}
	said := await(c, "building the space of "+problem.String())
	defer said.done()
	s, err := built(problem.String(), func() (*space.Space, error) { return part.Space(c.Context) })
	s.Limits = limits
	return []namedSpace{s}, err
}

func built(name string, build func() (*space.Space, error)) (namedSpace, error) {
	start := time.Now()
	s, err := build()
	if err != nil {
		return namedSpace{}, err
	}
	return namedSpace{Name: name, Cartesian: s.Cartesian(), Valid: s.Len(), Seconds: time.Since(start).Seconds(), space: s}, nil
}

func printCounts(c *cli.Context, spaces []namedSpace) error {
	if c.Bool("json") {
		if len(spaces) == 1 {
			return printJSON(c.App.Writer, spaces[0])
		}
		return printJSON(c.App.Writer, spaces)
	}
	w := columns(c.App.Writer)
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

// printConfigurations prints so many configurations, one a line, until it is interrupted. at
// gives their indexes.
func printConfigurations(c *cli.Context, s *space.Space, n int64, at func(int64) int64) error {
	for i := range n {
		if err := c.Context.Err(); err != nil {
			return err
		}
		var err error
		if configuration := s.At(at(i)); c.Bool("json") {
			err = printJSON(c.App.Writer, configuration.Flat())
		} else {
			_, err = fmt.Fprintln(c.App.Writer, configuration)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// columns aligns the cells of lines, which tabs separate.
func columns(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
