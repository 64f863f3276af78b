// scaled, general: output element i of any problem. What scalars say follows from the sizes.
struct Sizes {
    SIZES;
};

__device__ float scaled_general(const float* x, const Sizes& s, long long i) { return 2.5f * x[s.n - 1 - i]; }
