// wgmma_swizzled.cuh, emulated, as wgmma.cuh is.
#pragma once

inline unsigned emulated_word(const SwizzledRows& operand, int line, int half, int at) {
    assert(reinterpret_cast<size_t>(operand.rows) % 1024 == 0 && "swizzled rows begin at a multiple of 1024 bytes");
    const int piece = operand.eighth * 2 + half;
    return reinterpret_cast<const unsigned*>(operand.rows + line * 128 + (piece ^ line % 8) * 16)[at];
}

template <int Columns>
inline void wgmma_swizzled(float (&d)[Columns / 2], const SwizzledRows& a, const SwizzledRows& b) {
    emulated_wgmma_start<Columns, 8, emulated_tf32>(EmulatedSharedWgmma<SwizzledRows>{d, a, b, true});
}
template <int Columns>
inline void wgmma_swizzled(float (&d)[Columns / 2], const unsigned (&a)[4], const SwizzledRows& b) {
    emulated_wgmma_start<Columns, 8, emulated_tf32>(EmulatedWgmma<SwizzledRows>{d, {a[0], a[1], a[2], a[3]}, b, true});
}
