package final

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/scratch"
	"autotune/operator"
	"autotune/space"
)

// Rivals is another program that solves the same problems on the same GPU, such as PyTorch.
type Rivals interface {
	// Prepare may start slow preparations of the rival program as soon as the problem is known. A search calls Prepare
	// before Start.
	Prepare(ctx context.Context, p *operator.Problem, protocol device.Protocol)
	// Start prepares the rival program for timing a problem. The function `leave` writes the winner's inputs and
	// outputs into a folder and returns the folder's path, or "" if it cannot write them. Package answers defines
	// the names of the files that `leave` writes. Start should call the function `leave` only if it needs the
	// files, since they may be large.
	Start(ctx context.Context, p *operator.Problem, protocol device.Protocol, leave func() string) (Rival, error)
}

// AbsentError says that this machine has no rival program, or that the program cannot solve the problem.
type AbsentError struct{ Err error }

func (e *AbsentError) Error() string { return e.Err.Error() }

func (e *AbsentError) Unwrap() error { return e.Err }

// Rival is a program that is ready to solve a problem. Names lists the ways in which a rival program can be timed, and
// Left says why other ways are not possible.
type Rival interface {
	Names() []string
	Left() []string
	Outputs(name string) *Outputs                                  // nil: the outputs were not compared
	Time(ctx context.Context, name string) (ms float64, err error) // the median time of one turn
	Close() error
}

// Outputs compares a rival's outputs with the winner's for the same inputs.
type Outputs struct {
	MaxAbsError float64 `json:"max_abs_error"`
	ATol        float64 `json:"atol"` // tolerance of the operator: ATol + RTol * |element|
	RTol        float64 `json:"rtol"`
	Differing   int64   `json:"differing"` // elements beyond the tolerance
	Elements    int64   `json:"elements"`
}

// Agree reports whether all elements of both outputs are equal within the tolerance.
func (o Outputs) Agree() bool { return o.Differing == 0 }

// Tolerance describes the operator's tolerance in words.
func (o Outputs) Tolerance() string {
	return fmt.Sprintf("%.3g plus %.3g of the element", o.ATol, o.RTol)
}

// Compared is a baseline: a time that the winner is compared with.
type Compared struct {
	Name   string  `json:"name,omitempty"` // default, reference, or a name of PyTorch from package torchtimes
	TimeMS float64 `json:"time_ms"`
	// Speedup is the winner's geometric mean speedup over a baseline timed in turns with it; CI95 is the speedup's
	// 95 % confidence interval.
	Speedup float64    `json:"speedup,omitempty"`
	CI95    [2]float64 `json:"speedup_ci95,omitzero"`
	Outputs *Outputs   `json:"outputs,omitempty"` // comparison with the winner's outputs; nil: not compared
}

var errNoTimes = errors.New("this device takes no times of a GPU")

// Beside times a configuration in turns with rival programs, which also compare their outputs with the configuration's.
// The notes tell the user which rivals could not be timed and where their outputs differ from the winner's.
func Beside(ctx context.Context, s Subject, c space.Configuration, rivals Rivals) (all []Compared, notes []string, err error) {
	if !s.Device.Info().Kind.Properties().Measures {
		return nil, nil, errNoTimes
	}
	v, m, err := s.begin(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	folder, err := scratch.New("outputs")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	r, err := rivals.Start(ctx, s.Problem, s.Protocol, func() string {
		if why := m.leave(ctx, v, folder); why != "" {
			notes = append(notes, "outputs were not compared: "+why)
			return ""
		}
		return folder.Dir
	})
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	all, err = m.beside(ctx, v, r)
	return all, slices.Concat(notes, r.Left(), differing(all)), err
}

// leave writes the inputs and outputs of a variant into a folder, and returns a reason if that is not possible.
func (m *Match) leave(ctx context.Context, v device.Variant, folder *scratch.Folder) (why string) {
	s := m.sides[0]
	var bytes int64
	for _, a := range s.Problem.Arguments {
		if a.Role.Filled() || a.Role.Compared() {
			bytes += a.Bytes()
		}
	}
	free, err := folder.Free()
	switch {
	case err != nil:
		return err.Error()
	case s.Problem.Operator.Compare != nil:
		return "a kernel of the operator's own compares them"
	case bytes > free/policy.mostLeft:
		return fmt.Sprintf("the tensors take %s in files, and %s has %s free", device.GiB(bytes), folder.Dir, device.GiB(free))
	}
	o, _, err := s.place.session.Check(ctx, v, device.Check{Leave: folder.Dir})
	if err != nil {
		return err.Error()
	}
	return o.Message
}

func differing(all []Compared) (lines []string) {
	for _, c := range all {
		if o := c.Outputs; o != nil && !o.Agree() {
			lines = append(lines, fmt.Sprintf("the output of %s differs from the winner's in %d of %d elements: largest error %.3g, tolerance %s",
				c.Name, o.Differing, o.Elements, o.MaxAbsError, o.Tolerance()))
		}
	}
	return lines
}

// beside times a variant in turns with a rival. The ratio of the times in two consecutive turns does not depend on a
// drifting clock of the GPU.
func (m *Match) beside(ctx context.Context, v device.Variant, r Rival) (all []Compared, err error) {
	names := r.Names()
	times, ratios := make([][]float64, len(names)), make([][]float64, len(names))
	for turn := range policy.turnsBeside {
		ours, err := m.Round(ctx, []Runner{{Variant: v}}, 0)
		if err != nil {
			return nil, err
		}
		if ours[0].Status != trial.OK {
			return nil, fmt.Errorf("the winner ended as %s: %s", ours[0].Status, ours[0].Reason())
		}
		for i := range names {
			at := (i + turn) % len(names) // so that each name follows the winner equally often
			ms, err := r.Time(ctx, names[at])
			if err != nil {
				return nil, err
			}
			times[at] = append(times[at], ms)
			ratios[at] = append(ratios[at], math.Log(ms/ours[0].Time.Median))
		}
	}
	for i, name := range names {
		speedup, interval := ratio(ratios[i])
		all = append(all, Compared{Name: name, TimeMS: trial.Median(times[i]), Speedup: speedup, CI95: interval, Outputs: r.Outputs(name)})
	}
	return all, nil
}

// ratio returns the geometric mean of ratios whose logarithms are given, and a confidence interval by Student's t.
func ratio(logs []float64) (mean float64, ci95 [2]float64) {
	m, deviation := stat.MeanStdDev(logs, nil)
	n := float64(len(logs))
	reach := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
	return math.Exp(m), [2]float64{math.Exp(m - reach), math.Exp(m + reach)}
}
