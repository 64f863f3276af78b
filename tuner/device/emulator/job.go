package emulator

import (
	"fmt"
	"strings"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// job is what a variant's program is asked to do; runtime/job.h reads it.
type job struct {
	launch       operator.Launch
	workers      int
	seed         uint32
	distribution string
	atol, rtol   float64
	timeout      time.Duration
	warmUp       int
	samples      int
	measure      time.Duration
	dropAboveMS  float64
	tensors      []jobTensor
}

// jobTensor is a tensor with the files, in the program's folder, that its
// contents come from, go to and are compared with; "" is none.
type jobTensor struct {
	name                     string
	role                     operator.Role
	elements                 int64
	scale                    float64
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
	g, t := j.launch.Grid, j.launch.Block
	line("grid", g[0], g[1], g[2])
	line("block", t[0], t[1], t[2])
	line("shared", j.launch.SharedBytes)
	line("workers", j.workers)
	line("seed", j.seed)
	line("distribution", j.distribution)
	line("tolerance", j.atol, j.rtol)
	line("launch_timeout_ms", j.timeout.Milliseconds())
	line("warm_up", j.warmUp)
	line("samples", j.samples)
	line("measure_ms", float64(j.measure)/float64(time.Millisecond))
	line("drop_above_ms", j.dropAboveMS)
	for _, t := range j.tensors {
		line("tensor", t.name, t.role, t.elements, t.scale, orDash(t.input), orDash(t.output), orDash(t.reference))
	}
	return b.String()
}

func orDash(file string) string {
	if file == "" {
		return "-"
	}
	return file
}

// protocolJob is the part of a job that the protocol and the problem decide.
func protocolJob(p *operator.Problem, proto device.Protocol, workers int) job {
	j := job{
		workers: workers, seed: proto.Seed, distribution: proto.Distribution,
		atol: p.ATol, rtol: p.RTol, timeout: proto.LaunchTimeout,
		warmUp: proto.WarmUp, samples: proto.Samples, measure: proto.MeasureTime,
	}
	for _, t := range p.Tensors {
		j.tensors = append(j.tensors, jobTensor{name: t.Name, role: t.Role, elements: t.Elements, scale: t.Scale})
	}
	return j
}

// launchProblem says what a GPU's driver would refuse in a launch; "" if nothing.
func launchProblem(l operator.Launch, lim operator.Limits) string {
	for i, axis := range []string{"x", "y", "z"} {
		mostBlock, mostGrid := int64(1024), int64(65535)
		switch axis {
		case "x":
			mostGrid = 1<<31 - 1
		case "z":
			mostBlock = 64
		}
		if l.Block[i] < 1 || l.Block[i] > mostBlock {
			return fmt.Sprintf("block.%s is %d; it must be 1 to %d", axis, l.Block[i], mostBlock)
		}
		if l.Grid[i] < 1 || l.Grid[i] > mostGrid {
			return fmt.Sprintf("grid.%s is %d; it must be 1 to %d", axis, l.Grid[i], mostGrid)
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
