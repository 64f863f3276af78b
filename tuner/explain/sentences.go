package explain

import (
	"fmt"

	"autotune/device/trial"
	"autotune/internal/output"
	"autotune/operator"
)

// memoryBound and memoryNear are fractions of the measured copy bandwidth, with which a winner's own bandwidth is
// compared. A winner that reaches the fraction memoryBound is limited by memory, and a winner that reaches memoryNear
// is partly limited by memory.
const (
	memoryBound = 0.9
	memoryNear  = 0.5
)

// limit returns a sentence about how near the winner is to the device's limits.
func (e Explanation) limit() string {
	text := fmt.Sprintf("It reaches %.3g %% of the measured copy bandwidth", 100*e.CopyShare)
	switch {
	case e.CopyShare <= 0 && e.GFLOPS <= 0:
		return ""
	case e.CopyShare <= 0:
		return fmt.Sprintf("It computes %.4g GFLOP/s; the copy bandwidth was not measured.", e.GFLOPS)
	case e.CopyShare >= memoryBound:
		return text + ": it is limited by memory."
	case e.CopyShare >= memoryNear:
		text += ": it is close to memory-bound, but not limited by memory alone."
	default:
		text += fmt.Sprintf(" and %.4g GFLOP/s: it is not limited by memory.", e.GFLOPS)
	}
	if e.PeakShare >= 0.05 {
		text += fmt.Sprintf(" It reaches %.3g %% of the device's measured peak of %s.", 100*e.PeakShare, e.PeakOf)
	}
	return text
}

// registersStep and reservedShared describe how GPUs since Volta allocate registers and shared memory.
const (
	registersStep  = 8    // a thread's registers are allocated in multiples of this number
	reservedShared = 1024 // bytes of each block that the driver uses, since Ampere
)

// room returns a sentence about how many blocks of the largest launch fit a multiprocessor, and what limits them.
func room(w trial.Trial, l operator.Limits) string {
	shared, threads := w.Resources.SharedBytes, int64(0)
	for _, launch := range w.Launches {
		threads = max(threads, launch.Block[0]*launch.Block[1]*launch.Block[2])
		shared = max(shared, launch.SharedBytes)
	}
	limit, by := int64(0), "Registers limit"
	if registers := int64(w.Resources.Registers); registers > 0 && threads > 0 && l.RegistersPerSM > 0 {
		steps := (registers + registersStep - 1) / registersStep
		limit = int64(l.RegistersPerSM) / (steps * registersStep * threads)
	}
	if shared > 0 && l.SharedPerSM > 0 {
		if blocks := int64(l.SharedPerSM) / (shared + reservedShared); limit == 0 || blocks < limit {
			limit, by = blocks, "Shared memory limits"
		}
	}
	if limit == 0 || threads == 0 {
		return ""
	}
	text := fmt.Sprintf("%s each multiprocessor to %s of %d threads", by, output.Count(limit, "block"), threads)
	if w.Resources.Occupancy > 0 {
		text += fmt.Sprintf("; the occupancy is %.3g %%", 100*w.Resources.Occupancy)
	}
	return text + "."
}

func (e Explanation) spills() string {
	if e.Resources.LocalBytes == 0 {
		return ""
	}
	return fmt.Sprintf("Each thread spills %s to local memory, because its %d registers do not hold all of its values.",
		output.Count(e.Resources.LocalBytes, "byte"), e.Resources.Registers)
}

// String returns the time of a change relative to the winner's time: "as fast", "+2.6 %", "3.1x", or the status of a
// change that failed.
func (c Cost) String() string {
	switch {
	case c.Status != trial.OK:
		return string(c.Status)
	case c.Tied():
		return "as fast"
	case c.Ratio >= 2:
		return fmt.Sprintf("%.3gx", c.Ratio)
	}
	return fmt.Sprintf("%+.2g %%", 100*(c.Ratio-1))
}
