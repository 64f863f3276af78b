// activated.cuh: outputs that an activation makes of sums (EPILOGUE, an expression of a sum x of
// activations.cuh's functions). It is applied where a sum is rounded to an output, so it costs no
// way to memory. Partial sums of split-K are none: their launch's sums are.
#pragma once
#include "element.cuh"

#ifdef EPILOGUE
#define F EPILOGUE
#else  // a parameter that has its default has no macro: outputs are the sums
#define F x
#define EPILOGUE_X 1
#endif
#include "activations.cuh"
#undef F

#ifdef EPILOGUE
__device__ __forceinline__ float activated(float x) { return Chain::of(x, 0.0f, 0.0f); }

// Finished is an output, whose stores make it of sums.
struct Finished {
    Element element;
    Finished() = default;
    __device__ __forceinline__ Finished(Element e) : element(e) {}
};
__device__ __forceinline__ float to_float(const Finished& x) { return to_float(x.element); }
template <>
__device__ __forceinline__ Finished from_float<Finished>(float x) {
    return from_float<Element>(activated(x));
}
template <int Elements, bool Streaming = false>
__device__ __forceinline__ void store_elements(Finished* to, const float* from) {
    float outputs[Elements];
#pragma unroll
    for (int i = 0; i < Elements; ++i) outputs[i] = activated(from[i]);
    store_elements<Elements, Streaming>(reinterpret_cast<Element*>(to), outputs);
}
#else
__device__ __forceinline__ float activated(float x) { return x; }
typedef Element Finished;
#endif

// Leaving is what a tile's sums are stored as.
#if SPLITS > 1
typedef float Leaving;
#else
typedef Finished Leaving;
#endif
template <class Stored>
__device__ __forceinline__ Leaving* leaving(Stored* y) {
    static_assert(sizeof(Stored) == sizeof(Leaving), "the same place in memory");
    return reinterpret_cast<Leaving*>(y);
}
__device__ __forceinline__ Finished* finished(Element* y) { return reinterpret_cast<Finished*>(y); }
