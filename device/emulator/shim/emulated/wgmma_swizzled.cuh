// wgmma_swizzled.cuh, emulated, as wgmma.cuh is.
#pragma once

// emulated_element is one of 16 bits, of a line and one of the product's 16 elements of k.
template <bool AlongK, int Line>
inline unsigned emulated_element(const SwizzledLines<AlongK, Line>& of, int line, int k) {
    const int row = AlongK ? line % 8 : of.product * 16 + k;  // of a line's bytes
    const int at = AlongK ? of.product * 16 + k : line % 64;  // in the row
    const int apart = AlongK && of.apart == 0 ? 8 * Line : of.apart;
    const size_t there = reinterpret_cast<size_t>(of.first) + line / (AlongK ? 8 : 64) * apart + row * Line + at * 2;
    return *reinterpret_cast<const unsigned short*>(there ^ there / 128 % (Line / 16) * 16);
}

template <bool AlongK, int Line>
inline unsigned emulated_word(const SwizzledLines<AlongK, Line>& of, int line, int half, int at) {
    static_assert(AlongK || Line == 128, "lines across have 128 bytes");
    assert(reinterpret_cast<size_t>(of.first) % (AlongK ? Line : 8 * Line) == 0 && "swizzled lines across begin at a multiple of eight of them");
    assert(!AlongK || of.product < Line / 32);
    const int k = half * 8 + at * 2;
    return emulated_element(of, line, k) | emulated_element(of, line, k + 1) << 16;
}

template <WgmmaType Type, int Columns, class Lane>
inline void emulated_swizzled_start(const Lane& lane) {
    if constexpr (Type == wgmma_of_tf32)
        emulated_wgmma_start<Columns, 8, emulated_tf32>(lane);
    else
        emulated_wgmma_start<Columns, 16, Type == wgmma_of_bf16 ? emulated_bf16 : emulated_fp16>(lane);
}

template <WgmmaType Type, int Columns, bool RowsAlongK, bool ColumnsAlongK, int Line>
inline void wgmma_swizzled(float (&d)[Columns / 2], const SwizzledLines<RowsAlongK, Line>& a, const SwizzledLines<ColumnsAlongK, Line>& b) {
    typedef EmulatedSharedWgmma<SwizzledLines<RowsAlongK, Line>, SwizzledLines<ColumnsAlongK, Line>> Lane;
    emulated_swizzled_start<Type, Columns>(Lane{d, a, b, true});
}

template <WgmmaType Type, int Columns, bool RowsAlongK, bool ColumnsAlongK>
inline void wgmma_swizzled_first(float (&d)[Columns / 2], const SwizzledLines<RowsAlongK>& a, const SwizzledLines<ColumnsAlongK>& b) {
    typedef EmulatedSharedWgmma<SwizzledLines<RowsAlongK>, SwizzledLines<ColumnsAlongK>> Lane;
    emulated_swizzled_start<Type, Columns>(Lane{d, a, b, false});
}

template <WgmmaType Type, int Columns, bool ColumnsAlongK>
inline void wgmma_swizzled(float (&d)[Columns / 2], const unsigned (&a)[4], const SwizzledLines<ColumnsAlongK>& b) {
    emulated_swizzled_start<Type, Columns>(EmulatedWgmma<SwizzledLines<ColumnsAlongK>>{d, {a[0], a[1], a[2], a[3]}, b, true});
}
