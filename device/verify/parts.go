package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
)

// Part is one of the operator's own kernels that is not a variant: it fills or compares tensors.
type Part struct {
	operator.Kernel
	Operator string // its name
	Name     string // device.FillKernel or device.Comparison
	Binary   *compile.Binary
}

type Filling struct {
	Part
	operator.Filling
}

type Comparison struct {
	Part
}

// Parts holds all of an operator's own kernels. If Comparison is nil, outputs are compared element by element.
type Parts struct {
	Fillings   []Filling
	Comparison *Comparison
}

// Compile compiles the operator's own kernels, all of them even if one fails. A kernel that the compiler refuses gives
// a *device.ReferenceError.
func Compile(ctx context.Context, c compile.Compiler, arch string, p *operator.Problem) (Parts, error) {
	var parts Parts
	var failures []error
	part := func(name string, k operator.Kernel) Part {
		b, err := c.Compile(ctx, compile.Request{Kernel: k, Arch: arch})
		var refused *compile.Error
		switch {
		case errors.As(err, &refused):
			failures = append(failures, device.NotCompiled(p.Operator.Name, name, refused))
		case err != nil:
			failures = append(failures, fmt.Errorf("compile %s: %w", k.File, err))
		}
		return Part{k, p.Operator.Name, name, b}
	}
	for _, f := range p.Fillings() {
		parts.Fillings = append(parts.Fillings, Filling{part(device.FillKernel, f.Kernel), f})
	}
	if k, there := p.Comparing(); there {
		parts.Comparison = &Comparison{part(device.Comparison, k)}
	}
	return parts, errors.Join(failures...)
}

func (p Part) Blame(format string, values ...any) *device.ReferenceError {
	return device.Blame(p.Operator, p.Name, format, values...)
}

// Accept returns why a variant's outputs are wrong, given the distance from the reference that the comparison computed,
// or "" if they are right. A NaN distance means wrong outputs.
func (c *Comparison) Accept(apart float64) (fault string) {
	if apart <= 0 {
		return ""
	}
	return fmt.Sprintf("%s gives %.6g for how far it is from the reference; it must be 0", c.File, apart)
}

// AcceptItself returns an error if the comparison finds a difference between the reference and itself.
func (c *Comparison) AcceptItself(apart float64) error {
	if apart <= 0 {
		return nil
	}
	return c.Blame("cannot be right: %s gives %.6g for the reference against itself; it must be 0", c.File, apart)
}

type Content int

// The following constants name the contents of a tensor that a comparison kernel can read. For a tensor that a
// variant only reads, a comparison kernel gets one buffer; for a tensor that a variant writes, it gets two or
// three, such as the variant's result and the right answer.
const (
	Given     Content = iota // a scalar, or a tensor that is only read
	Made                     // written by the variant
	Reference                // the right answer
	Before                   // what an inout tensor held before the launch
)

// Passed is one argument that is passed to a comparison kernel.
type Passed struct {
	Argument int // index of the problem's argument
	Content  Content
}

// ComparisonArguments returns the arguments of a comparison kernel, in order. The returned list does not contain a
// comparison kernel's last argument, which is the address of the kernel's result.
func ComparisonArguments(arguments []operator.Argument) []Passed {
	var all []Passed
	for i, a := range arguments {
		switch a.Role {
		case operator.Output:
			all = append(all, Passed{i, Made}, Passed{i, Reference})
		case operator.InOut:
			all = append(all, Passed{i, Made}, Passed{i, Reference}, Passed{i, Before})
		case operator.Input, operator.Weight, operator.Scalar:
			all = append(all, Passed{i, Given})
		}
	}
	return all
}

// NotExact is the message about a launch whose output bits differ from those of the first launch.
const NotExact = "its output is not, bit for bit, that of the first launch"

// Repeat launches a variant as often as a check asks, and stops at the first launch that is wrong. launch receives the
// number of earlier launches and returns checksums of the outputs; nil checksums are not compared.
func Repeat(c device.Check, launch func(before int) (trial.Outcome, []uint64, error)) (o trial.Outcome, launches int, err error) {
	var first []uint64
	wanted, worst, begin := max(c.Launches, 1), 0.0, time.Now()
	for launches < wanted && (launches == 0 || c.Limit <= 0 || time.Since(begin) <= c.Limit) {
		var sums []uint64
		if o, sums, err = launch(launches); o.Status == "" {
			return o, launches, err
		}
		launches++
		worst = max(worst, o.MaxAbsError)
		o.MaxAbsError = worst
		if launches == 1 {
			first = sums
		}
		if c.Exact && sums != nil && !slices.Equal(sums, first) {
			if o.Status == trial.WrongResult {
				o.Message += "; " + NotExact
			} else {
				o.Fail(trial.WrongResult, NotExact)
			}
		}
		if o.Status != trial.OK || err != nil {
			if wanted > 1 {
				o.Message = fmt.Sprintf("launch %d of %d: %s", launches, wanted, o.Message)
			}
			return o, launches, err
		}
	}
	return o, launches, nil
}

// The following limits of blocks, grids and clusters are the same on every GPU.
var (
	mostBlock   = [3]int64{1024, 1024, 64}
	mostGrid    = [3]int64{1<<31 - 1, 65535, 65535}
	allClusters = int64(8)
)

// Refused says why no GPU with these limits can run a launch, or returns "" if a GPU can.
func Refused(l operator.Launch, lim operator.Limits) string {
	cluster := int64(1)
	for i, axis := range []string{"x", "y", "z"} {
		switch {
		case l.Block[i] < 1 || l.Block[i] > mostBlock[i]:
			return fmt.Sprintf("block.%s is %d; it must be 1 to %d", axis, l.Block[i], mostBlock[i])
		case l.Grid[i] < 1 || l.Grid[i] > mostGrid[i]:
			return fmt.Sprintf("grid.%s is %d; it must be 1 to %d", axis, l.Grid[i], mostGrid[i])
		case l.Clustered() && (l.Cluster[i] < 1 || l.Grid[i]%l.Cluster[i] != 0):
			return fmt.Sprintf("cluster.%s is %d; it must divide grid.%[1]s, which is %[3]d", axis, l.Cluster[i], l.Grid[i])
		case l.Clustered():
			cluster *= l.Cluster[i]
		}
	}
	switch n := Volume(l.Block); {
	case n > int64(lim.MaxThreadsPerBlock):
		return fmt.Sprintf("a block has %d threads; at most %d are possible", n, lim.MaxThreadsPerBlock)
	case l.SharedBytes < 0 || l.SharedBytes > int64(lim.MaxSharedPerBlock):
		return fmt.Sprintf("a block asks for %d bytes of shared memory; at most %d are possible", l.SharedBytes, lim.MaxSharedPerBlock)
	case cluster > allClusters:
		return fmt.Sprintf("a cluster has %d blocks; at most %d are possible", cluster, allClusters)
	}
	return ""
}

// Volume returns the number of blocks in a grid, or of threads in a block.
func Volume(d [3]int64) int64 { return d[0] * d[1] * d[2] }
