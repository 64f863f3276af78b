// tensor_map.cuh, emulated: a map holds what it is made of; a load's destination holds
// NaNs until its barrier is waited for, as a bulk load's (mbarriers.h).
#pragma once

struct EmulatedTensorMap {
    const void* first;
    int rank, bytes;  // of an element
    bool plain, exact;
    unsigned char steps[5];
    unsigned extents[5], box[5];
    long long apart[5];
};
static_assert(sizeof(EmulatedTensorMap) <= sizeof(TensorMap), "a map has room for its emulation");

template <int Rank, class T, BoxForm Form>
inline void make_tensor_map(TensorMap* map, TensorMap* scratch, const TensorBox<Rank, T, Form>& of) {
    constexpr bool plain = Form == BoxForm::plain;
    assert(reinterpret_cast<size_t>(of.first) % 16 == 0 && "a tensor begins at a multiple of 16 bytes");
    const size_t line = of.box[0] * sizeof(T);
    assert((plain || line == 128 || line == 64) && of.apart[0] == 1 && "a swizzled box's rows are 128 or 64 bytes of elements side by side");
    assert(of.step(0) == 1 && "the copy engine takes elements side by side along the first axis");
    assert(of.box[0] * sizeof(T) % 16 == 0 && of.box[0] <= 256 && "a plain box's rows are a multiple of 16 bytes, 256 floats at most");
    for (int axis = 1; axis < Rank; ++axis) {
        assert(of.step(axis) <= 8 && "a box's elements are at most 8 steps apart");
        assert(of.box[axis] >= 1 && of.box[axis] * of.step(axis) <= 256 && "a box has 1 to 256 elements along an axis");
        assert(of.apart[axis] * sizeof(T) % 16 == 0 && "neighbours along an axis are a multiple of 16 bytes apart");
    }
    if (threadIdx.x % 32 == 0) {
        EmulatedTensorMap made = {of.first, Rank, sizeof(T), plain, Form != BoxForm::swizzled, {}, {}, {}, {}};
        for (int axis = 0; axis < Rank; ++axis) {
            made.extents[axis] = of.extents[axis];
            made.box[axis] = of.box[axis];
            made.steps[axis] = of.step(axis);
            made.apart[axis] = of.apart[axis];
        }
        __builtin_memset(scratch->words, 0, sizeof scratch->words);
        __builtin_memcpy(scratch->words, &made, sizeof made);
        for (int i = 0; i < 16; ++i) map->words[i] = scratch->words[i];
    }
    __syncwarp();
}

inline void use_tensor_map(const TensorMap*) {}

inline unsigned emulated_tensor_rounded(unsigned bits) {
    if ((bits & 0x7f800000u) == 0x7f800000u) return bits & 0x7fffffu ? 0x7fffe000u : bits;
    return (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
}
// An element of 4 bytes is a float, which is rounded but for an exact or a plain box.
inline void emulated_tensor_element(void* to, const void* from, const EmulatedTensorMap& of) {
    unsigned bits = 0;
    __builtin_memcpy(&bits, from, of.bytes);
    if (of.bytes == 4 && !of.exact) bits = emulated_tensor_rounded(bits);
    __builtin_memcpy(to, &bits, of.bytes);
}

template <int Rank>
inline void tensor_load(void* shared, const TensorMap* map, const int (&at)[Rank], Mbarrier* barrier) {
    EmulatedTensorMap of;
    __builtin_memcpy(&of, map->words, sizeof of);
    assert(of.rank == Rank && "a box begins at a place of the tensor's rank");
    assert(reinterpret_cast<size_t>(shared) % (of.plain ? 128 : 8 * of.box[0] * of.bytes) == 0 &&
           "a swizzled box begins at a multiple of eight rows, a plain one of 128 bytes");
    assert(at[0] * of.bytes % 16 == 0 && "a box begins at a multiple of 16 bytes of a row");
    const int pieces = of.box[0] * of.bytes / 16;  // of a row
    int rows = 1;
    for (int axis = 1; axis < Rank; ++axis) rows *= of.box[axis];
    for (int row = 0; row < rows; ++row) {
        bool inside = true;
        long long first = at[0];
        for (int axis = 1, rest = row; axis < Rank; rest /= of.box[axis++]) {
            const long long place = at[axis] + (long long)(rest % of.box[axis]) * of.steps[axis];
            inside = inside && place >= 0 && place < of.extents[axis];
            first += place * of.apart[axis];
        }
        for (int piece = 0; piece < pieces; ++piece) {
            const int in_piece = 16 / of.bytes;
            unsigned char value[16] = {};
            for (int i = 0; i < in_piece; ++i) {
                const long long column = at[0] + piece * in_piece + i;
                if (inside && column >= 0 && column < of.extents[0])
                    emulated_tensor_element(value + i * of.bytes, static_cast<const char*>(of.first) + (first + piece * in_piece + i) * of.bytes, of);
            }
            char* const to = static_cast<char*>(shared) + (row * pieces + (of.plain ? piece : piece ^ row * pieces / 8 % pieces)) * 16;
            __builtin_memset(to, 0xff, 16);
            autotune_bulk_issue(to, value, barrier);
        }
    }
}
