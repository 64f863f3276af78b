// The largest difference in y above 1e-3, of elements in any order within blocks of two; where
// total is not right, a large number.
extern "C" __global__ void own_compare(const int* k, const float* v, const void* x, const long long* total, const long long* right,
                                       const long long* before, float scale, const float* y, const float* ref, double* error) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    double apart = fabs((double)y[i] - ref[i]);
    if (apart <= 1e-3) apart = 0;
    if (total[i] != right[i] || total[i] != before[i] + k[i]) apart = 1e6;
    if (!(apart >= 0)) apart = 1e9;
    atomicMax((unsigned long long*)error, (unsigned long long)__double_as_longlong(apart)); // numbers that are not negative are in the order of their bits
}
