package emulator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// job is what a variant's program is asked to do; runtime/job.h reads it.
type job struct {
	launches    operator.Launches
	protocol    device.Protocol
	workers     int
	patience    int // LaunchTimeouts that a launch may take as long as its blocks end; 0: one
	dropAboveMS float64
	check       device.Check
	first       int // launches that were verified before, by other programs
	arguments   []jobArgument
}

// jobArgument is a scalar or a tensor. A tensor has a fill, or a file in the
// program's folder that its contents come from instead. Other files there are
// those that its contents go to and are compared with; "" is none.
type jobArgument struct {
	operator.Argument
	symbol                   uint64 // address of the variable that it is copied to; 0: none
	fill                     elements.Fill
	input, output, reference string
}

func (j job) text() string {
	var b strings.Builder
	line := func(word string, values ...any) {
		b.WriteString(word)
		for _, v := range values {
			fmt.Fprintf(&b, " %v", v)
		}
		b.WriteString("\n")
	}
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	p := j.protocol
	for _, l := range j.launches {
		g, t, c := l.Grid, l.Block, clusterOf(l)
		line("launch", slices.Index(j.launches.Entries(), l.Entry), g[0], g[1], g[2], t[0], t[1], t[2], l.SharedBytes, c[0], c[1], c[2], number(l.Cooperative), number(l.Dependent), cmp.Or(l.Entry, "kernel"))
		for _, argument := range j.passed(l) {
			line("pass", argument)
		}
	}
	line("workers", j.workers)
	line("launch_timeout_ms", p.LaunchTimeout.Milliseconds())
	line("patience", max(1, j.patience))
	line("warm_up", p.WarmUp)
	line("samples", p.Samples)
	line("measure_ms", float64(p.MeasureTime)/float64(time.Millisecond))
	line("drop_above_ms", j.dropAboveMS)
	line("checks", max(j.check.Launches, 1), number(j.check.Exact), j.check.Limit.Milliseconds())
	line("first", j.first)
	for _, a := range j.arguments {
		if a.Role == operator.Scalar {
			line("scalar", a.Name, a.Bits(), a.Type, a.Type.CUDA())
			continue
		}
		line("tensor", a.Name, a.Role, elements.TypeNumber(a.Type), a.Elements, a.ATol, a.RTol, a.fill.Seed, a.fill.Distribution, a.fill.A, a.fill.B,
			cmp.Or(a.input, "-"), cmp.Or(a.output, "-"), cmp.Or(a.reference, "-"), a.Type, a.Type.CUDA())
		if a.symbol != 0 {
			line("symbol", a.symbol)
		}
	}
	return b.String()
}

// passed are the arguments that a launch passes, by their index.
func (j job) passed(l operator.Launch) []int {
	all := make([]operator.Argument, len(j.arguments))
	for i, a := range j.arguments {
		all[i] = a.Argument
	}
	return operator.Passed(all, l)
}
