// swizzled_descriptor.cuh: how wgmma (wgmma.cuh) is told where an operand lies in shared memory.
// It is swizzled in 128 bytes there, as the copy engine puts it with a tensor map.
#pragma once

// swizzled_descriptor packs the address of an operand, so many bytes behind `first`: of lines of 128 or 64 bytes,
// eight of which follow each other; the next eight begin `eights` bytes further on. apart counts the bytes from 128 of
// lines that lie side by side to the next; for lines along k it is 16, and means nothing.
//
// A product swaps pieces of 16 bytes by their addresses, as the copy engine did. So it may begin between any two
// lines of what the engine brought: the base offset, which tells of patterns that begin elsewhere, stays zero.
template <int Line = 128>
__device__ __forceinline__ unsigned long long swizzled_descriptor(const char* first, int behind, unsigned apart, unsigned eights = 8 * Line) {
    const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(first)) + behind;
    return static_cast<unsigned long long>((start & 0x3ffff) >> 4) | static_cast<unsigned long long>((apart & 0x3ffff) >> 4) << 16 |
           static_cast<unsigned long long>((eights & 0x3ffff) >> 4) << 32 | (Line == 128 ? 1ull : 2ull) << 62;
}
