#ifdef AUTOTUNE_MAIN
// A program that verifies the kernel and times it: build with -DAUTOTUNE_MAIN.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

//: reference

namespace autotune {

#define ELEMENT static __device__
//: elements
#undef ELEMENT

struct Tensor {
    const char* name;
    int type;
    u64 count;
    bool filled, written, compared;
    u32 seed;
    int distribution;
    double a, b, atol, rtol;
};

struct Verdict {
    u64 wrong, first; // first counts from the end, so that 0 is none
    double got, want;
};

//: tensors

static __global__ void fill(void* data, u64 count, int type, u32 seed, int distribution, double a, double b) {
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        element_store(data, i, type, element_draw(i, count, seed, distribution, a, b));
}

static __global__ void poison(void* data, u64 count, int type) {
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x)
        element_set(data, i, type, element_poison(type));
}

static __global__ void compare(const void* out, const void* ref, u64 count, int type, double atol, double rtol, Verdict* verdict) {
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
        double error;
        if (element_close(out, ref, i, type, atol, rtol, &error)) continue;
        atomicAdd(&verdict->wrong, 1ull);
        atomicMax(&verdict->first, count - i);
    }
}

static __global__ void look(const void* out, const void* ref, u64 count, int type, Verdict* verdict) {
    verdict->got = element_load(out, count - verdict->first, type);
    verdict->want = element_load(ref, count - verdict->first, type);
}

static const int tensor_count = sizeof(tensors) / sizeof(tensors[0]);

static void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::printf("%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
}

static u64 bytes_of(const Tensor& t) {
    static const int bytes[] = {8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 8, 4, 2, 1, 1};
    return t.count * bytes[t.type];
}

static void run(const void* kernel, void** arguments) {
    check(cudaLaunchKernel(kernel, dim3(1024), dim3(256), arguments, 0, 0), "a kernel of this program");
}

// Fills what the kernel reads; what it must write holds a pattern that no kernel makes.
static void prepare(void** data, bool all) {
    for (int i = 0; i < tensor_count; i++) {
        Tensor t = tensors[i];
        if (t.count == 0 || !(all || t.written)) continue;
        if (t.filled) {
            void* arguments[] = {&data[i], &t.count, &t.type, &t.seed, &t.distribution, &t.a, &t.b};
            run((const void*)fill, arguments);
        } else {
            void* arguments[] = {&data[i], &t.count, &t.type};
            run((const void*)poison, arguments);
        }
    }
}

// How many of the compared tensors differ from the reference's.
static int verify(void** data, void** expected) {
    int different = 0;
    Verdict* verdict = 0;
    check(cudaMalloc((void**)&verdict, sizeof(Verdict)), "memory");
    for (int i = 0; i < tensor_count; i++) {
        Tensor t = tensors[i];
        if (!t.compared || t.count == 0) continue;
        check(cudaMemset(verdict, 0, sizeof(Verdict)), "memory");
        void* arguments[] = {&data[i], &expected[i], &t.count, &t.type, &t.atol, &t.rtol, &verdict};
        run((const void*)compare, arguments);
        Verdict found;
        check(cudaMemcpy(&found, verdict, sizeof(Verdict), cudaMemcpyDeviceToHost), "the comparison");
        if (found.wrong == 0) continue;
        void* at[] = {&data[i], &expected[i], &t.count, &t.type, &verdict};
        run((const void*)look, at);
        check(cudaMemcpy(&found, verdict, sizeof(Verdict), cudaMemcpyDeviceToHost), "the comparison");
        std::printf("%llu of %llu elements of %s differ from the reference, the first at %llu: %.9g instead of %.9g\n", found.wrong, t.count, t.name, t.count - found.first,
                    found.got, found.want);
        different++;
    }
    check(cudaFree(verdict), "memory");
    return different;
}

// The median of a launch's times in milliseconds; what it writes is prepared anew before each.
static float median_time(void** data) {
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "an event");
    check(cudaEventCreate(&end), "an event");
    std::vector<float> times;
    for (int i = 0; i < 33; i++) {
        prepare(data, false);
        check(cudaEventRecord(begin, 0), "an event");
        check(run_winner(data), "the kernel");
        check(cudaEventRecord(end, 0), "an event");
        check(cudaEventSynchronize(end), "the kernel");
        float time = 0;
        check(cudaEventElapsedTime(&time, begin, end), "an event");
        if (i >= 3) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static int program() {
    std::vector<void*> data(tensor_count), expected(tensor_count);
    for (int i = 0; i < tensor_count; i++) {
        if (tensors[i].count == 0) continue;
        check(cudaMalloc(&data[i], bytes_of(tensors[i])), "memory");
        expected[i] = data[i];
        if (tensors[i].written) check(cudaMalloc(&expected[i], bytes_of(tensors[i])), "memory");
    }
    prepare(data.data(), true);
    prepare(expected.data(), false);
    check(run_reference(expected.data()), "the reference");
    check(cudaDeviceSynchronize(), "the reference");
    check(run_winner(data.data()), "the kernel");
    check(cudaDeviceSynchronize(), "the kernel");
    if (verify(data.data(), expected.data()) > 0) return 1;
    std::printf("right; %.4g us a launch, the median of 30\n", 1000 * median_time(data.data()));
    return 0;
}

} // namespace autotune

int main() { return autotune::program(); }
#endif
