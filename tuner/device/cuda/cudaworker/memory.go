//go:build cuda

package cudaworker

import (
	"fmt"

	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/operator"
)

// alignment of tensors, as the driver's own allocations have it.
const alignment = 256

// guardBytes surround each tensor on both sides. A stray write is most often
// near: an index one row or one tile too far. A megabyte holds several.
const guardBytes = 1 << 20

// memory is what a session needs of the GPU's.
type memory struct {
	Tensors    []int64 // bytes to allocate for each tensor, guard zones included; 0 for one without elements
	References []int64 // for the reference's value of each output; 0 for what is no output
	Flush      int64   // the buffer that is written to empty the L2 cache
}

func planMemory(tensors []operator.Argument, l2 int64) memory {
	m := memory{Flush: flushBytes(l2)}
	for _, t := range tensors {
		var own, reference int64
		if t.Elements > 0 {
			own = 2*guardBytes + aligned(4*t.Elements)
			if t.Role == operator.Output {
				reference = aligned(4 * t.Elements)
			}
		}
		m.Tensors = append(m.Tensors, own)
		m.References = append(m.References, reference)
	}
	return m
}

func (m memory) total() int64 {
	sum := m.Flush
	for i := range m.Tensors {
		sum += m.Tensors[i] + m.References[i]
	}
	return sum
}

// check returns a fault when this is more than the free memory.
func (m memory) check(free, total int64) error {
	if need := m.total(); need > free {
		return &wire.Fault{Kind: wire.NoMemory, Message: fmt.Sprintf("the problem needs %s, the GPU has %s free of %s", device.GiB(need), device.GiB(free), device.GiB(total))}
	}
	return nil
}

// flushBytes is twice the cache, at least 32 MiB.
func flushBytes(l2 int64) int64 { return max(2*l2, 32<<20) }

func aligned(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }
