// wgmma_swizzled.cuh, emulated, as wgmma.cuh is.
#pragma once

inline unsigned emulated_word(const SwizzledRows& operand, int line, int half, int at) {
    assert(reinterpret_cast<size_t>(operand.rows) % 1024 == 0 && "swizzled rows begin at a multiple of 1024 bytes");
    const int piece = operand.eighth * 2 + half;
    return reinterpret_cast<const unsigned*>(operand.rows + line * 128 + (piece ^ line % 8) * 16)[at];
}

template <int Columns>
inline void wgmma_swizzled(float (&d)[Columns / 2], const SwizzledRows& a, const SwizzledRows& b) {
    EmulatedSharedWgmma<SwizzledRows> mine = {d, a, b, true, int(threadIdx.x / 32 % 4 * 16)};
    autotune_warp_meet(0xffffffffu, "wgmma_swizzled", &mine, emulated_wgmma_tf32_work<Columns, EmulatedSharedWgmma<SwizzledRows>>);
}
template <int Columns>
inline void wgmma_swizzled(float (&d)[Columns / 2], const unsigned (&a)[4], const SwizzledRows& b) {
    EmulatedWgmma<SwizzledRows> mine = {d, a, b, true};
    autotune_warp_meet(0xffffffffu, "wgmma_swizzled", &mine, emulated_wgmma_tf32_work<Columns, EmulatedWgmma<SwizzledRows>>);
}
