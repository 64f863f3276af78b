package emulator

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// job is what a variant's program is asked to do; runtime/job.h reads it.
type job struct {
	launch      operator.Launch
	protocol    device.Protocol
	workers     int
	patience    int // LaunchTimeouts that a launch may take as long as its blocks end; 0: one
	dropAboveMS float64
	check       device.Check
	first       int // as the how manieth launch the first counts
	arguments   []jobArgument
}

// jobArgument is a scalar; or a tensor with what it is filled with and the files,
// in the program's folder, that its contents come from instead, go to and are
// compared with; "" is none.
type jobArgument struct {
	operator.Argument
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
	exact := 0
	if j.check.Exact {
		exact = 1
	}
	g, t, p := j.launch.Grid, j.launch.Block, j.protocol
	line("grid", g[0], g[1], g[2])
	line("block", t[0], t[1], t[2])
	line("shared", j.launch.SharedBytes)
	line("workers", j.workers)
	line("launch_timeout_ms", p.LaunchTimeout.Milliseconds())
	line("patience", max(1, j.patience))
	line("warm_up", p.WarmUp)
	line("samples", p.Samples)
	line("measure_ms", float64(p.MeasureTime)/float64(time.Millisecond))
	line("drop_above_ms", j.dropAboveMS)
	line("checks", max(j.check.Launches, 1), exact, j.check.Limit.Milliseconds())
	line("first", j.first)
	for _, a := range j.arguments {
		if a.Role == operator.Scalar {
			line("scalar", a.Name, a.Bits(), a.Type, a.Type.CUDA())
			continue
		}
		line("tensor", a.Name, a.Role, elements.TypeNumber(a.Type), a.Elements, a.ATol, a.RTol, a.fill.Seed, a.fill.Distribution, a.fill.A, a.fill.B,
			cmp.Or(a.input, "-"), cmp.Or(a.output, "-"), cmp.Or(a.reference, "-"), a.Type, a.Type.CUDA())
	}
	return b.String()
}

// launchProblem says what a GPU's driver would refuse in a launch; "" if nothing.
func launchProblem(l operator.Launch, lim operator.Limits) string {
	mostBlock, mostGrid := [3]int64{1024, 1024, 64}, [3]int64{1<<31 - 1, 65535, 65535}
	for i, axis := range []string{"x", "y", "z"} {
		if l.Block[i] < 1 || l.Block[i] > mostBlock[i] {
			return fmt.Sprintf("block.%s is %d; it must be 1 to %d", axis, l.Block[i], mostBlock[i])
		}
		if l.Grid[i] < 1 || l.Grid[i] > mostGrid[i] {
			return fmt.Sprintf("grid.%s is %d; it must be 1 to %d", axis, l.Grid[i], mostGrid[i])
		}
	}
	if n := l.Block[0] * l.Block[1] * l.Block[2]; n > int64(lim.MaxThreadsPerBlock) {
		return fmt.Sprintf("a block has %d threads; at most %d are possible", n, lim.MaxThreadsPerBlock)
	}
	if l.SharedBytes < 0 || l.SharedBytes > int64(lim.MaxSharedPerBlock) {
		return fmt.Sprintf("a block asks for %d bytes of dynamic shared memory; at most %d are possible", l.SharedBytes, lim.MaxSharedPerBlock)
	}
	return ""
}
