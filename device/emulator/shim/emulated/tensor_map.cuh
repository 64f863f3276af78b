// tensor_map.cuh, emulated: the emulator decodes the tensor maps that a GPU's TMA reads. The destination of a load
// holds NaNs until a thread waits for the load's mbarrier (mbarriers.h).
#pragma once

// EmulatedTensorMap holds the decoded fields of a tensor map.
struct EmulatedTensorMap {
    const char* first;
    int rank, bytes;  // bytes: of an element
    bool plain, rounded;
    long long extents[5], apart[5];  // in bytes
    int box[5], steps[5];

    explicit EmulatedTensorMap(const TensorMap& map) {
        const auto bits = [&](int word, int from, int count) { return map.words[word] >> from & ((1ull << count) - 1); };
        first = reinterpret_cast<const char*>(map.words[0]);
        rank = static_cast<int>(bits(1, 4, 3)) + 1;
        bytes = bits(1, 7, 4) == 7 ? 4 : 2;
        plain = bits(1, 13, 2) == 0;
        rounded = bits(1, 16, 1);
        for (int axis = 0; axis < rank; ++axis) {
            extents[axis] = static_cast<long long>(bits(4 + axis / 2, axis % 2 * 32, 32)) + 1;
            apart[axis] = axis == 0 ? bytes : static_cast<long long>(bits(1 + axis / 2, axis % 2 * 32, 32)) * 16;
            steps[axis] = static_cast<int>(bits(6, 32 + 3 * axis, 3)) + 1;
            const int reach = static_cast<int>(axis == 0 ? bits(6, 56, 8) : bits(7, 8 * (axis - 1), 8)) + 1;
            box[axis] = reach / steps[axis];
        }
        assert(rank <= 5 && (bits(1, 7, 4) == 7 || bits(1, 7, 4) == 1) && "a tensor map has 1 to 5 axes, and elements of 2 or 4 bytes");
        assert(map.words[0] % 16 == 0 && "a tensor begins at a multiple of 16 bytes");
        assert((plain || bits(1, 13, 2) > 1) && "the emulator swizzles lines of 128 and 64 bytes alone");
        assert((plain || box[0] * bytes == 16 << bits(1, 13, 2)) && "a swizzled box's rows are 128 or 64 bytes of elements side by side");
        assert(steps[0] == 1 && "the copy engine takes elements side by side along the first axis");
        assert(box[0] * bytes % 16 == 0 && "a plain box's rows are a multiple of 16 bytes");
    }
};

inline void prefetch_tensor_map(const TensorMap*) {}

inline unsigned emulated_tensor_rounded(unsigned bits) {
    if ((bits & 0x7f800000u) == 0x7f800000u) return bits & 0x7fffffu ? 0x7fffe000u : bits;
    return (bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u;
}
inline void emulated_tensor_element(void* to, const void* from, const EmulatedTensorMap& of) {
    unsigned bits = 0;
    __builtin_memcpy(&bits, from, of.bytes);
    if (of.rounded) bits = emulated_tensor_rounded(bits);
    __builtin_memcpy(to, &bits, of.bytes);
}

template <int Rank>
inline void tensor_load(void* shared, const TensorMap* map, const int (&at)[Rank], Mbarrier* barrier) {
    const EmulatedTensorMap of(*map);
    assert(of.rank == Rank && "a box begins at a place of the tensor's rank");
    assert(reinterpret_cast<size_t>(shared) % (of.plain ? 128 : 8 * of.box[0] * of.bytes) == 0 &&
           "a swizzled box begins at a multiple of eight rows, a plain one of 128 bytes");
    assert(at[0] * of.bytes % 16 == 0 && "a box begins at a multiple of 16 bytes of a row");
    const int pieces = of.box[0] * of.bytes / 16;  // in a row
    int rows = 1;
    for (int axis = 1; axis < Rank; ++axis) rows *= of.box[axis];
    for (int row = 0; row < rows; ++row) {
        bool inside = true;
        const char* line = of.first;
        for (int axis = 1, rest = row; axis < Rank; rest /= of.box[axis++]) {
            const long long place = at[axis] + static_cast<long long>(rest % of.box[axis]) * of.steps[axis];
            inside = inside && place >= 0 && place < of.extents[axis];
            line += place * of.apart[axis];
        }
        for (int piece = 0; piece < pieces; ++piece) {
            const int in_piece = 16 / of.bytes;
            unsigned char value[16] = {};
            for (int i = 0; i < in_piece; ++i) {
                const long long column = at[0] + piece * in_piece + i;
                if (inside && column >= 0 && column < of.extents[0]) emulated_tensor_element(value + i * of.bytes, line + column * of.bytes, of);
            }
            char* const to = static_cast<char*>(shared) + (row * pieces + (of.plain ? piece : piece ^ row * pieces / 8 % pieces)) * 16;
            __builtin_memset(to, 0xff, 16);
            autotune_bulk_issue(to, value, barrier);
        }
    }
}
