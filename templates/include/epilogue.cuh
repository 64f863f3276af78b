// epilogue.cuh: what an operator's outputs are made of (EPILOGUE, an expression of a sum x, its bias in it, and of
// tensors t0 to t7). It is applied in float where a sum would be rounded to an output, so it costs the tensors' way
// from memory and no other. Partial sums of split-K are no outputs: their launch's sums are.
//
// A tensor has some of the output's axes, EPILOGUE_0_AXES: bit 0 is the first. Along the others it is the same
// everywhere. Its elements lie in the order of its axes. Kernels get the tensors last, as EPILOGUE_PARAMETERS.
//
// Without an epilogue outputs are the sums: NoEpilogue has nothing, and costs nothing.
#pragma once
#include "activations.cuh"
#include "element.cuh"

// Coordinates say where an output lies: its index along each axis. The first axis needs no size. They are a Place:
// that has kAlong, the axis along which outputs lie side by side, as tensors have axes; along(), an output's index along it;
// and, of a tensor that has some axes, the index of the element that belongs to the output, and how many elements lie
// side by side. Outputs along another axis than the last are as far apart as step<Axes>(); all that are asked for are
// there, and begin aligned.
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
// EPILOGUE_EACH does something with the number of each tensor.
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

// Broadcast is a tensor that has some of the output's axes.
template <class T, unsigned Axes>
struct Broadcast {
    const T* data;

    // Held is what belongs to Count outputs side by side, as it lies in memory if it has the axis along which they are.
    // Elements of 16 bits are pairs. One number is a float.
    template <int Count, class Place>
    struct Held {
        static constexpr bool kPacked = Count > 1 && (Axes & Place::kAlong);
        float words[kPacked ? Count * sizeof(T) / 4 : 1];
    };

    // load has no branches, so that many loads are under way before the first is used. What lies behind the end of the
    // axis is what lies before it. A tensor of several axes is far away: it may be any size.
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

    // fetch brings to the L2 what belongs to an output, and its neighbours of 32 bytes.
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
    // A far tensor's load stays where it is (load_early).
    __device__ __forceinline__ static float one(const T* from) {
        if constexpr (!kFar) return read_only(from);
        if constexpr (sizeof(T) == 4) {
            float word;
            load_early<1>(&word, from);
            return word;
        } else {
            return to_float(T{load_early(&from->bits)});
        }
    }
    __device__ __forceinline__ static float half_of(unsigned pair, int upper) {
        return upper ? Pair<T>::high(pair) : Pair<T>::low(pair);
    }

    // load_by loads Width at a time if rows are multiples of it, and so begin aligned; else fewer.
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

typedef bf16 AsBf16;  // the types, where functions are called so
typedef f16 AsF16;

// Formula has the functions of an epilogue, and its value.
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

    // Loaded is what the tensors have beside Count outputs side by side.
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
    // Sums may be those of a few of these outputs, from one on.
    template <int Few, int Count, class Place>
    __device__ __forceinline__ static void apply(float (&sums)[Few], const Loaded<Count, Place>& loaded, int from = 0) {
        EPILOGUE_EACH(EPILOGUE_UNPACK)
#pragma unroll
        for (int i = from; i < from + Few; ++i)
            sums[i - from] = Formula::of(sums[i - from] EPILOGUE_EACH(EPILOGUE_LOADED));
    }
    // apply makes outputs of sums of which the first is at a place.
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

// TileEpilogue is of the launch that has tiles, and has nothing where another adds up what that leaves.
#if SPLITS > 1
#define TILE_EPILOGUE_PARAMETERS
#define TILE_EPILOGUE_ARGUMENTS
typedef NoEpilogue TileEpilogue;
#else
#define TILE_EPILOGUE_PARAMETERS EPILOGUE_PARAMETERS
#define TILE_EPILOGUE_ARGUMENTS EPILOGUE_ARGUMENTS
typedef Epilogue TileEpilogue;
#endif

// finish makes outputs of sums, if something was loaded: else there is no epilogue, or what is stored is mended. If it
// Mends, a sum that mended.cuh must find is left as it is: an epilogue might make a number of an infinity.
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

// TileGiven is what Outputs of tiles are made with (gemm_tiles.cuh); an epilogue that has nothing takes no room.
struct TileGiven : TileEpilogue {
    const Element* bias;
};
