package gpu

import (
	"fmt"

	"autotune/tuner/device"
	"autotune/tuner/operator"
)

// alignment of tensors, as the driver's own allocations have it.
const alignment = 256

// guardBytes surround each tensor on both sides. A stray write is most often
// near: an index one row or one tile too far. A megabyte holds several.
const guardBytes = 1 << 20

// memory is what a session needs of the GPU's.
type memory struct {
	Tensors    []int64 // bytes to allocate for each argument, guard zones included; 0 for one without elements
	References []int64 // for what the reference makes of it; 0 for what is not compared
	Pristine   []int64 // for what it holds before a launch; 0 for what is not both read and written
	Flush      int64   // the buffer that is written to empty the L2 cache
}

func planMemory(arguments []operator.Argument, l2 int64) memory {
	m := memory{Flush: flushBytes(l2)}
	for _, a := range arguments {
		var own, reference, pristine int64
		if a.Elements > 0 {
			own = 2*guardBytes + aligned(a.Bytes())
			if a.Role.Compared() {
				reference = aligned(a.Bytes())
			}
			if a.Role == operator.InOut {
				pristine = aligned(a.Bytes())
			}
		}
		m.Tensors, m.References, m.Pristine = append(m.Tensors, own), append(m.References, reference), append(m.Pristine, pristine)
	}
	return m
}

func (m memory) total() int64 {
	sum := m.Flush
	for i := range m.Tensors {
		sum += m.Tensors[i] + m.References[i] + m.Pristine[i]
	}
	return sum
}

// zoneWords is how many words of 64 bits struct Zone of kernels.cu takes.
const zoneWords = 3

// zonesAround are the guard zones before and behind a tensor, in the words of struct
// Zone. The one behind it begins within the word in which the tensor ends.
func zonesAround(data uint64, bytes int64, blockEnd uint64) []uint64 {
	end := data + uint64(bytes)
	word := end / 4 * 4
	return []uint64{
		data - guardBytes, guardBytes / 4, 0,
		word, (blockEnd - word) / 4, end - word,
	}
}

// check returns an error when this is more than the free memory.
func (m memory) check(free, total int64) error {
	if need := m.total(); need > free {
		return fmt.Errorf("the problem needs %s, the GPU has %s free of %s: %w", device.GiB(need), device.GiB(free), device.GiB(total), device.ErrMemory)
	}
	return nil
}

// flushBytes is twice the cache, at least 32 MiB.
func flushBytes(l2 int64) int64 { return max(2*l2, 32<<20) }

func aligned(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }
