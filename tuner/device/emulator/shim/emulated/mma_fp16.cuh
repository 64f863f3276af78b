// mma_fp16.cuh, emulated, as mma.cuh is.
#pragma once

inline void mma_m16n8k16_fp16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    EmulatedMma mine = {d, a, b};
    autotune_warp_meet(0xffffffffu, "mma_m16n8k16_fp16", &mine, emulated_mma_pairs<emulated_fp16>);
}
