// epilogue.cuh: the epilogue computes an operator's outputs from its sums by an expression (EPILOGUE) of a sum x, which
// includes its bias, and of tensors t0 to t7. The epilogue is applied in float before a sum would be rounded to an
// output, so its only cost is reading the tensors. Partial sums of split-K are no outputs: the launch that adds them up
// applies the epilogue.
//
// A tensor has some of the output's axes, given by the bits of EPILOGUE_0_AXES (bit 0 is the first axis). Along the
// output's other axes the tensor is broadcast. The order of a tensor's elements in memory follows the order of its
// axes. The epilogue's tensors are a kernel's last parameters (EPILOGUE_PARAMETERS).
//
// Without an epilogue the outputs are the sums: NoEpilogue is empty, and costs nothing.
#pragma once
#include "activations.cuh"
#include "element.cuh"

// Coordinates locate an output by its index along each axis; the size of the first axis is not needed. Coordinates are
// a Place, which is a class with four members: kAlong is the axis along which outputs are contiguous, as a bit; along()
// is an output's index along that axis; index<Axes>() is the index of the output's element in a tensor that has these
// axes; side_by_side<Axes>() is how many elements of the tensor are contiguous. Coordinates along another axis than the
// last are for outputs that all exist, the first aligned; step<Axes>() is their elements' distance in a tensor.
template <int Rank, int Along = Rank - 1>
struct Coordinates {
    static constexpr unsigned kAlong = 1u << Along;
    long long at[Rank], size[Rank];
    __device__ __forceinline__ long long along() const { return Along == Rank - 1 ? at[Along] : 0; }
    template <unsigned>
    __device__ __forceinline__ long long side_by_side() const {
        return Along == Rank - 1 ? size[Along] : 1ll << 40;
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long step() const {
        long long step = 1;
        for (int axis = Along + 1; axis < Rank; ++axis) step *= Axes >> axis & 1 ? size[axis] : 1;
        return step;
    }
    template <unsigned Axes>
    __device__ __forceinline__ long long index() const {
        long long index = 0, step = 1;
#pragma unroll
        for (int axis = Rank - 1; axis >= 0; --axis) {
            if (!(Axes >> axis & 1)) continue;
            index += at[axis] * step;
            step *= size[axis];
        }
        return index;
    }
};

template <class Place, unsigned Axes>
constexpr bool kIsStepped = false;
template <int Rank, int Along, unsigned Axes>
constexpr bool kIsStepped<Coordinates<Rank, Along>, Axes> = (Axes >> (Along + 1)) != 0;

struct NoEpilogue {
    static constexpr bool kIsNone = true;
    template <int, class>
    struct Loaded {};
    template <int Count, class Place>
    __device__ __forceinline__ Loaded<Count, Place> load(const Place&) const {
        return {};
    }
    template <class Place>
    __device__ __forceinline__ float of(float x, const Place&) const {
        return x;
    }
    template <int Count, class... Place>
    __device__ __forceinline__ void apply(float (&)[Count], const Place&...) const {}
};

#ifdef EPILOGUE
#ifndef EPILOGUE_TENSORS
#define EPILOGUE_TENSORS 0
#endif
// EPILOGUE_EACH(DO) expands DO(i) for the number i of each tensor.
#define EPILOGUE_FIRST_0(DO)
#define EPILOGUE_FIRST_1(DO) DO(0)
#define EPILOGUE_FIRST_2(DO) EPILOGUE_FIRST_1(DO) DO(1)
#define EPILOGUE_FIRST_3(DO) EPILOGUE_FIRST_2(DO) DO(2)
#define EPILOGUE_FIRST_4(DO) EPILOGUE_FIRST_3(DO) DO(3)
#define EPILOGUE_FIRST_5(DO) EPILOGUE_FIRST_4(DO) DO(4)
#define EPILOGUE_FIRST_6(DO) EPILOGUE_FIRST_5(DO) DO(5)
#define EPILOGUE_FIRST_7(DO) EPILOGUE_FIRST_6(DO) DO(6)
#define EPILOGUE_FIRST_8(DO) EPILOGUE_FIRST_7(DO) DO(7)
#define EPILOGUE_FIRST(COUNT, DO) EPILOGUE_FIRST_##COUNT(DO)
#define EPILOGUE_COUNTED(COUNT, DO) EPILOGUE_FIRST(COUNT, DO)
#define EPILOGUE_EACH(DO) EPILOGUE_COUNTED(EPILOGUE_TENSORS, DO)

#define EPILOGUE_PARAMETER(I) , const EPILOGUE_##I##_TYPE* __restrict__ t##I
#define EPILOGUE_PARAMETERS EPILOGUE_EACH(EPILOGUE_PARAMETER)
#define EPILOGUE_ARGUMENT(I) {t##I},
#define EPILOGUE_ARGUMENTS EPILOGUE_EACH(EPILOGUE_ARGUMENT)
#define EPILOGUE_MEMBER(I) Broadcast<EPILOGUE_##I##_TYPE, EPILOGUE_##I##_AXES> t##I;
#define EPILOGUE_VALUE(I) , float t##I
#define EPILOGUE_HELD(I) typename decltype(Epilogue::t##I)::template Held<Count, Place> t##I;
#define EPILOGUE_LOAD(I) t##I.template load<Count>(place),
#define EPILOGUE_FETCH(I) t##I.fetch(place);
#define EPILOGUE_UNPACK(I)  \
    float beside##I[Count]; \
    decltype(Epilogue::t##I)::template unpack<Count, Place>(beside##I, loaded.t##I);
#define EPILOGUE_LOADED(I) , beside##I[i]

// Broadcast is a tensor that has some of the output's axes, and is the same along the others.
template <class T, unsigned Axes>
struct Broadcast {
    const T* data;

    // Held holds the tensor's elements for Count contiguous outputs: as they are in memory, with 16-bit elements as
    // pairs, or a single float if the tensor has one element for all of these outputs.
    template <int Count, class Place>
    struct Held {
        static constexpr bool kPacked = Count > 1 && (Axes & Place::kAlong);
        float words[kPacked ? Count * sizeof(T) / 4 : 1];
    };

    // load has no branches, so that many loads are in flight before the first is used. For outputs behind the end of
    // the axis, load reads earlier elements again. Tensors of several axes may have any size and count as far.
    static constexpr bool kFar = (Axes & (Axes - 1)) != 0;
    template <int Count, class Place>
    __device__ __forceinline__ Held<Count, Place> load(const Place& place) const {
        static_assert(Count == 1 || Count % 2 == 0, "elements of 16 bits are held as pairs");
        const long long index = place.template index<Axes>();
        Held<Count, Place> held;
        if constexpr (Held<Count, Place>::kPacked && kIsStepped<Place, Axes>) {
            load_by<1>(held.words, data + index, 1ll << 40, 0, place.template step<Axes>());
        } else if constexpr (Held<Count, Place>::kPacked) {
            constexpr int most = 16 / sizeof(T);
            load_by<(Count < most ? Count : most)>(held.words, data + index, place.template side_by_side<Axes>(), place.along());
        } else {
            held.words[0] = one(data + index);
        }
        return held;
    }

    // fetch brings an output's element and its neighbours, 32 bytes, to the L2.
    template <class Place>
    __device__ __forceinline__ void fetch(const Place& place) const {
        if constexpr (kFar) prefetch_to_l2(data + place.template index<Axes>());
    }

    template <int Count, class Place>
    __device__ __forceinline__ static void unpack(float (&to)[Count], const Held<Count, Place>& held) {
#pragma unroll
        for (int i = 0; i < Count; ++i)
            if constexpr (!Held<Count, Place>::kPacked)
                to[i] = held.words[0];
            else if constexpr (sizeof(T) == 4)
                to[i] = held.words[i];
            else
                to[i] = half_of(__float_as_uint(held.words[i / 2]), i % 2);
    }

   private:
    __device__ __forceinline__ static float one(const T* from) { return kFar ? read_early(from) : read_only(from); }
    __device__ __forceinline__ static float half_of(unsigned pair, int upper) {
        return upper ? Pair<T>::high(pair) : Pair<T>::low(pair);
    }

    // load_by loads Width elements per access if the length of rows is a multiple of Width, so that rows begin aligned;
    // otherwise it uses narrower loads.
    template <int Width, int Words>
    __device__ __forceinline__ static void load_by(float (&to)[Words], const T* from, long long row, long long first,
                                                   long long step = 1) {
        if constexpr (Width > 1)
            if (row % Width != 0) return load_by<Width / 2>(to, from, row, first);
        constexpr int count = Words * 4 / sizeof(T);
        const long long last = row - first - Width;
        const auto at = [&](int i) { return from + (i < last ? i : last) * step; };
#pragma unroll
        for (int i = 0; i < count; i += Width)
            if constexpr (Width * sizeof(T) >= 4)
                load_words<Width * sizeof(T) / 4>(to + i * sizeof(T) / 4, at(i));
            else if (i % 2 == 0)
                to[i / 2] = __uint_as_float(Pair<T>::pack(one(at(i)), one(at(i + 1))));
    }
    template <int Words>
    __device__ __forceinline__ static void load_words(float* to, const T* from) {
        if constexpr (kFar)
            load_early<Words>(to, from);
        else
            unpack_vector(to, __ldg(reinterpret_cast<const typename FloatVector<Words>::type*>(from)));
    }
};

typedef bf16 AsBf16;  // the types, to convert to them by functions of the same names
typedef f16 AsF16;

// Formula contains the functions that an epilogue may call, and `of`, which evaluates the epilogue.
struct Formula : Activations {
#define AUTOTUNE_FUNCTION static __device__ __forceinline__ float
    AUTOTUNE_FUNCTION where(float condition, float a, float b) { return condition != 0.0f ? a : b; }
    AUTOTUNE_FUNCTION f32(float x) { return x; }
    AUTOTUNE_FUNCTION bf16(float x) { return to_float(from_float<AsBf16>(x)); }
    AUTOTUNE_FUNCTION f16(float x) { return to_float(from_float<AsF16>(x)); }
    AUTOTUNE_FUNCTION of(float x EPILOGUE_EACH(EPILOGUE_VALUE)) { return EPILOGUE; }
#undef AUTOTUNE_FUNCTION
};

struct Epilogue {
    static constexpr bool kIsNone = false;
    EPILOGUE_EACH(EPILOGUE_MEMBER)

    // Loaded holds the elements of all tensors for Count contiguous outputs.
    template <int Count, class Place>
    struct Loaded {
        EPILOGUE_EACH(EPILOGUE_HELD)
    };
    template <int Count, class Place>
    __device__ __forceinline__ Loaded<Count, Place> load(const Place& place) const {
        return {EPILOGUE_EACH(EPILOGUE_LOAD)};
    }
    template <class Place>
    __device__ __forceinline__ void fetch(const Place& place) const {
        EPILOGUE_EACH(EPILOGUE_FETCH)
    }
    // The sums may be those of a Few of these outputs, beginning with the output `from`.
    template <int Few, int Count, class Place>
    __device__ __forceinline__ static void apply(float (&sums)[Few], const Loaded<Count, Place>& loaded, int from = 0) {
        EPILOGUE_EACH(EPILOGUE_UNPACK)
#pragma unroll
        for (int i = from; i < from + Few; ++i)
            sums[i - from] = Formula::of(sums[i - from] EPILOGUE_EACH(EPILOGUE_LOADED));
    }
    // apply turns contiguous sums into outputs; `place` is the place of the first.
    template <int Count, class Place>
    __device__ __forceinline__ void apply(float (&sums)[Count], const Place& place) const {
        apply<Count, Count, Place>(sums, load<Count>(place));
    }
    template <class Place>
    __device__ __forceinline__ float of(float x, const Place& place) const {
        float one[1] = {x};
        apply(one, place);
        return one[0];
    }
};
#else
#define EPILOGUE_PARAMETERS
#define EPILOGUE_ARGUMENTS
typedef NoEpilogue Epilogue;
#endif

// TileEpilogue is the epilogue of the launch that computes tiles, or NoEpilogue if another launch adds up split sums.
#if SPLITS > 1
#define TILE_EPILOGUE_PARAMETERS
#define TILE_EPILOGUE_ARGUMENTS
typedef NoEpilogue TileEpilogue;
#else
#define TILE_EPILOGUE_PARAMETERS EPILOGUE_PARAMETERS
#define TILE_EPILOGUE_ARGUMENTS EPILOGUE_ARGUMENTS
typedef Epilogue TileEpilogue;
#endif

// finish applies an epilogue to sums. A sum that mended.cuh must find because it is not finite is stored without the
// epilogue, which might make it finite. Mended outputs are stored without loaded elements: finish leaves them alone.
template <bool Mends, int Count, class... Beside>
__device__ __forceinline__ void finish(const TileEpilogue& epilogue, float (&sums)[Count], const bool (&finite)[Count],
                                       const Beside&... beside) {
    if constexpr (sizeof...(Beside) > 0) {
        float outputs[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) outputs[i] = sums[i];
        epilogue.apply(outputs, beside...);
#pragma unroll
        for (int i = 0; i < Count; ++i)
            if (!Mends || finite[i]) sums[i] = outputs[i];
    }
}

// TileGiven contains the arguments from which the Output of a tile is constructed (gemm_tiles.cuh). TileGiven derives
// from the epilogue, which may be an empty base class.
struct TileGiven : TileEpilogue {
    const Element* bias;
};
