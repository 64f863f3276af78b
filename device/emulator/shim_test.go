package emulator

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"autotune/device/compile"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/operator"
)

// shimCase is a kernel with one input (0, 1, 2, ...) and one output, and the expected output.
type shimCase struct {
	name   string
	source string
	launch operator.Launch
	in     int
	out    int
	want   func(i int) float32
}

func (c shimCase) prove(t *testing.T, b *compile.Binary) {
	t.Helper()
	got, err := runTiny(t.Context(), b, c.launch, counting(c.in), c.out)
	must.OK(t, err)
	for i, v := range got {
		if want := c.want(i); v != want {
			t.Fatalf("%s: element %d is %v, not %v", c.name, i, v, want)
		}
	}
}

var shimCases = []shimCase{
	{
		name:   "one thread an element",
		source: `extern "C" __global__ void k(const float* x, float* y) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 1000) y[i] = 2.0f * x[i]; }`,
		launch: threads(8, 128), in: 1000, out: 1000,
		want: func(i int) float32 { return float32(2 * i) },
	},
	{
		name: "barrier and static shared memory",
		source: `extern "C" __global__ void __launch_bounds__(256) k(const float* __restrict__ x, float* __restrict__ y) {
			__shared__ float tile[2][128];
			int t = threadIdx.x;
			for (int round = 0; round < 4; ++round) {
				tile[t / 128][t % 128] = x[blockIdx.x * 256 + t] + round;
				__syncthreads();
				y[blockIdx.x * 256 + t] = tile[1 - t / 128][127 - t % 128];
				__syncthreads();
			}
		}`,
		launch: threads(5, 256), in: 1280, out: 1280,
		want: func(i int) float32 { return float32(i/256*256 + 255 - i%256 + 3) },
	},
	{
		name: "dynamic shared memory with alignment",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			extern __shared__ __align__(16) float smem[]; // not: extern __shared__ int wrong[];
			smem[threadIdx.x] = x[threadIdx.x];
			__syncthreads();
			const float4 v = reinterpret_cast<const float4*>(smem)[threadIdx.x / 4];
			y[threadIdx.x] = v.x + v.y + v.z + v.w;
		}`,
		launch: operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{64, 1, 1}, SharedBytes: 256}, in: 64, out: 64,
		want: func(i int) float32 { return float32(16*(i/4) + 6) },
	},
	{
		name: "dynamic shared memory of a row type at file scope",
		source: `extern __shared__ float rows[][8];
		__device__ float* row(int i) { return rows[i]; }
		extern "C" __global__ void k(const float* x, float* y) {
			row(threadIdx.y)[threadIdx.x] = x[threadIdx.y * 8 + threadIdx.x];
			__syncthreads();
			y[threadIdx.y * 8 + threadIdx.x] = rows[3 - threadIdx.y][threadIdx.x];
		}`,
		launch: operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{8, 4, 1}, SharedBytes: 128}, in: 32, out: 32,
		want: func(i int) float32 { return float32(8*(3-i/8) + i%8) },
	},
	{
		name: "shared memory starts as NaN in each block",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			__shared__ float a[32];
			extern __shared__ float b[];
			y[blockIdx.x * 32 + threadIdx.x] = isnan(a[threadIdx.x]) && isnan(b[threadIdx.x]) ? 1.0f : 0.0f;
			__syncthreads();
			a[threadIdx.x] = b[threadIdx.x] = x[0];
		}`,
		launch: operator.Launch{Grid: [3]int64{50, 1, 1}, Block: [3]int64{32, 1, 1}, SharedBytes: 128}, in: 1, out: 1600,
		want: func(int) float32 { return 1 },
	},
	{
		name: "threads that exit early do not stop a barrier or a warp",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			__shared__ float s[96];
			if (threadIdx.x >= 70) return;
			s[threadIdx.x] = x[threadIdx.x];
			__syncthreads();
			float v = s[69 - threadIdx.x];
			__syncwarp();
			y[threadIdx.x] = v + (threadIdx.x < 64 ? __shfl_xor_sync(0xffffffffu, v, 1) : 0.0f);
		}`,
		launch: threads(1, 96), in: 70, out: 70,
		want: func(i int) float32 {
			if i < 64 {
				return float32(69 - i + 69 - (i ^ 1))
			}
			return float32(69 - i)
		},
	},
	{
		name: "three-dimensional grid and block",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			int bx = blockIdx.x * blockDim.x + threadIdx.x, by = blockIdx.y * blockDim.y + threadIdx.y, bz = blockIdx.z * blockDim.z + threadIdx.z;
			int i = bx + gridDim.x * blockDim.x * (by + gridDim.y * blockDim.y * bz);
			y[i] = x[i] + 1.0f;
		}`,
		launch: operator.Launch{Grid: [3]int64{2, 3, 4}, Block: [3]int64{4, 2, 3}}, in: 576, out: 576,
		want: func(i int) float32 { return float32(i + 1) },
	},
	{
		name: "atomic sums of every type",
		source: `#include <cuda_fp16.h>
		#include <cuda_bf16.h>
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ int i; __shared__ unsigned u; __shared__ unsigned long long l; __shared__ float f; __shared__ double d;
			__shared__ __half h; __shared__ __half2 h2; __shared__ __nv_bfloat16 b; __shared__ __nv_bfloat162 b2;
			if (threadIdx.x == 0) { i = 0; u = 0; l = 1ull << 40; f = 0; d = 0; h = 0.0f; h2 = __float2half2_rn(1.0f); b = 0.0f; b2 = __float2bfloat162_rn(2.0f); }
			__syncthreads();
			const float v = x[threadIdx.x % 4];
			atomicAdd(&i, -(int)v); atomicAdd(&u, (unsigned)v); atomicAdd(&l, (unsigned long long)v); atomicAdd(&f, v); atomicAdd(&d, (double)v);
			atomicAdd(&h, __half(v)); atomicAdd(&h2, __floats2half2_rn(v, -v)); atomicAdd(&b, __nv_bfloat16(v)); atomicAdd(&b2, __floats2bfloat162_rn(v, -v));
			__syncthreads();
			if (threadIdx.x > 0) return;
			const float all[] = {(float)i, (float)u, (float)(l - (1ull << 40)), f, (float)d, h, __low2float(h2), __high2float(h2), b, __low2float(b2), __high2float(b2)};
			for (int k = 0; k < 11; ++k) y[k] = all[k];
		}`,
		launch: threads(1, 64), in: 4, out: 11,
		want: func(i int) float32 { return []float32{-96, 96, 96, 96, 96, 96, 97, -95, 96, 98, -94}[i] },
	},
	{
		name: "what is done with small floats",
		source: `#include <cuda_fp8.h>
		extern "C" __global__ void k(const float* x, float* y) {
			const int t = threadIdx.x;
			__half h = __float2half(x[t]);
			__half2 pair = __halves2half2(h, h + __half(1.0f));
			y[t] = __shfl_xor_sync(0xffffffffu, h, 1);
			y[32 + t] = __high2float(__shfl_down_sync(0xffffffffu, pair, 2));
			__nv_bfloat162 b = __floats2bfloat162_rn(x[t], 2.0f);
			b = __hfma2(b, b, __bfloat162bfloat162(__ldg(reinterpret_cast<const __nv_bfloat16*>(x) + 3)));
			y[64 + t] = __low2float(b) + __high2float(b);
			y[96 + t] = h < __half(16.0f) && !(pair.x != h) && __hgt(pair.y, pair.x) ? (float)__hmax(h, __float2half(__int_as_float(0x7fffffff))) : __hisnan(__hmax_nan(h, __half(__int_as_float(0x7fffffff))));
			y[128 + t] = (float)__nv_fp8_e4m3(h) + float2(__nv_fp8x2_e5m2(make_float2(x[t], 1e9f))).y;
			__half r = -h; r += h; r -= h; r *= h; r /= __half(2.0f);
			y[160 + t] = (float)(int)r + __half2int_rn(hsqrt(h * h)) + __half_as_ushort(__float2half_rz(65535.9f));
		}`,
		launch: threads(1, 32), in: 32, out: 192,
		want: func(i int) float32 {
			t := i % 32
			switch i / 32 {
			case 0:
				return float32(t ^ 1)
			case 1:
				if t+2 < 32 {
					t += 2
				}
				return float32(t + 1)
			case 2:
				sum := math.Float32bits(float32(t*t + 1))
				return math.Float32frombits((sum+0x7fff+sum>>16&1)&^0xffff) + 5
			case 3:
				if t < 16 {
					return float32(t)
				}
				return 1
			case 4: // four digits
				if t > 16 && t%2 == 1 {
					t += t%4 - 2
				}
				return float32(t + 57344)
			}
			return float32(-t*t/2 + t + 0x7bff)
		},
	},
	{
		name: "shuffles with widths",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			int t = threadIdx.x; float v = x[t]; unsigned m = 0xffffffffu;
			double d = v;
			y[t] = __shfl_sync(m, v, 3); y[64 + t] = __shfl_sync(m, t, 9, 8);
			y[128 + t] = __shfl_up_sync(m, v, 2); y[192 + t] = __shfl_down_sync(m, v, 5, 16);
			y[256 + t] = (float)__shfl_xor_sync(m, d, 17);
			y[320 + t] = (float)__shfl_sync(m, (unsigned long long)t << 40, 31) / 1099511627776.0f;
		}`,
		launch: threads(1, 64), in: 64, out: 384,
		want: func(i int) float32 {
			t := i % 64
			lane, warp := t%32, t/32*32
			switch i / 64 {
			case 0:
				return float32(warp + 3)
			case 1:
				return float32(warp + lane/8*8 + 1)
			case 2:
				if lane < 2 {
					return float32(t)
				}
				return float32(t - 2)
			case 3:
				if lane%16 >= 11 {
					return float32(t)
				}
				return float32(t + 5)
			case 4:
				return float32(warp + lane ^ 17)
			}
			return float32(warp + 31)
		},
	},
	{
		name: "shuffles of half a warp while the other half goes another way",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			float v = x[threadIdx.x];
			if (threadIdx.x < 16) { for (int o = 8; o; o /= 2) v += __shfl_xor_sync(0x0000ffffu, v, o); }
			else { for (int o = 8; o; o /= 2) v = fmaxf(v, __shfl_xor_sync(0xffff0000u, v, o)); v += __shfl_sync(0xffff0000u, v, 20); }
			y[threadIdx.x] = v;
		}`,
		launch: threads(1, 32), in: 32, out: 32,
		want: func(i int) float32 {
			if i < 16 {
				return 120
			}
			return 62
		},
	},
	{
		name: "votes and reductions",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			unsigned m = 0xffffffffu; int t = threadIdx.x; unsigned active = __activemask();
			unsigned odd = __ballot_sync(m, t & 1);
			y[t] = __popc(odd) + 100 * __any_sync(m, t == 7) + 1000 * __all_sync(m, t >= 0) + 10000 * __all_sync(m, t > 0);
			y[32 + t] = __reduce_add_sync(m, t) + __reduce_max_sync(m, -t) + (float)__reduce_or_sync(m, 1u << t);
			y[64 + t] = __syncthreads_count(t < 5) + 100 * __syncthreads_or(t == 3) + 1000 * __syncthreads_and(t == 3);
			y[96 + t] = (float)active;
		}`,
		launch: threads(1, 32), in: 32, out: 128,
		want: func(i int) float32 {
			return []float32{1116, 496 + 0 + float32(math.MaxUint32), 105, float32(math.MaxUint32)}[i/32]
		},
	},
	{
		name: "atomics between blocks",
		source: `__device__ unsigned total; __device__ int largest = -1; __device__ unsigned long long wide; __device__ unsigned done;
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ float sum;
			if (threadIdx.x == 0) sum = 0.0f;
			__syncthreads();
			atomicAdd(&sum, x[threadIdx.x]);
			atomicAdd(&total, 1u); atomicMax(&largest, (int)(blockIdx.x * 100 + threadIdx.x)); atomicAdd(&wide, 1ull << 33);
			__syncthreads();
			__threadfence();
			if (threadIdx.x == 0) { y[blockIdx.x] = sum; if (atomicInc(&done, 1000u) == gridDim.x - 1) {
				y[20] = total; y[21] = largest; y[22] = (float)(wide >> 33); y[23] = atomicCAS(&total, 1280u, 7u); y[24] = total; } }
		}`,
		launch: threads(20, 64), in: 64, out: 25,
		want: func(i int) float32 {
			if i < 20 {
				return 2016
			}
			return []float32{1280, 1963, 1280, 1280, 7}[i-20]
		},
	},
	{
		name: "integer intrinsics",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			unsigned v = threadIdx.x * 2654435761u;
			y[threadIdx.x] = __popc(v) == __popcll(v) && __brev(__brev(v)) == v && __byte_perm(v, 0, 0x0123) == __byte_perm(v, v, 0x4567)
				&& __funnelshift_l(v, v, 9) == (v << 9 | v >> 23) && __funnelshift_r(v, v, 9) == (v >> 9 | v << 23)
				&& __umulhi(v, v) == (unsigned)((unsigned long long)v * v >> 32) && __mulhi(-1, 5) == -1 && __mul24(-3, 7) == -21
				&& __ffs(v) == (v ? 1 + 31 - __clz(v & -v) : 0) && min(3, 4u) == 3u && max(-1.0f, 2.0f) == 2.0f ? 1.0f : 0.0f;
		}`,
		launch: threads(1, 128), in: 1, out: 128,
		want: func(int) float32 { return 1 },
	},
	{
		name: "floating-point functions",
		source: `extern "C" __global__ void k(const float* x, float* y) {
			float nan = __int_as_float(0x7fffffff), inf = __int_as_float(0x7f800000);
			bool ok = fmaxf(nan, 1.0f) == 1.0f && fminf(2.0f, nan) == 2.0f && isnan(fmaxf(nan, nan)) && fmaf(2.0f, 3.0f, 4.0f) == 10.0f
				&& rsqrtf(4.0f) == 0.5f && fabsf(-inf) == inf && isinf(inf) && __expf(0.0f) == 1.0f && sqrt(9.0f) == 3.0f && floorf(-0.5f) == -1.0f
				&& __float2int_rn(2.5f) == 2 && __saturatef(nan) == 0.0f && __fdividef(1.0f, 4.0f) == 0.25f && fma(2.0, 3.0, 1.0) == 7.0;
			float4 v = make_float4(1, 2, 3, 4);
			__stcs(reinterpret_cast<float4*>(y), v);
			v = __ldg(reinterpret_cast<const float4*>(y));
			ok = ok && v.w == 4.0f && sizeof(float3) == 12 && alignof(float4) == 16 && alignof(int2) == 8;
			__stcs(y, ok ? 1 : 0);
		}`,
		launch: threads(1, 1), in: 1, out: 4,
		want: func(i int) float32 { return float32(i + 1) },
	},
	{
		name: "named barriers",
		source: `#include "named_barrier.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ float stage[32];
			const int lane = threadIdx.x % 32;
			if (threadIdx.x < 32) { // produces
				for (int i = 0; i < 4; ++i) { if (i) named_barrier_wait(2, 64); stage[lane] = x[32 * i + lane]; named_barrier_arrive(1, 64); }
			} else { // consumes
				for (int i = 0; i < 4; ++i) { named_barrier_wait(1, 64); y[32 * i + lane] = stage[31 - lane]; if (i < 3) named_barrier_arrive(2, 64); }
			}
		}`,
		launch: threads(2, 64), in: 128, out: 128,
		want: func(i int) float32 { return float32(i/32*32 + 31 - i%32) },
	},
	{
		name: "rounding to TF32 and bf16",
		source: `#include "tf32.cuh"
		#include "bf16.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			const float e = __int_as_float(0x3f801000); // half a unit of TF32 above 1
			y[0] = tf32_value(e) == __int_as_float(0x3f802000); y[1] = tf32_value(-e) == -__int_as_float(0x3f802000);
			y[2] = tf32_value(__int_as_float(0x3f800fff)) == 1.0f; y[3] = isinf(tf32_value(__int_as_float(0x7f7fffff)));
			const unsigned p = pack_bf16x2(__int_as_float(0x3f808000), __int_as_float(0x3f818000)); // ties
			y[4] = p == 0x3f823f80u; unsigned hi, lo; split_bf16x2(1.00390625f, 3.14159274f, hi, lo);
			y[5] = fabsf(bf16_high(hi) + bf16_high(lo) - 3.14159274f) < 4e-5f; y[6] = bf16_low(hi) + bf16_low(lo) == 1.00390625f;
		}`,
		launch: threads(1, 1), in: 1, out: 7,
		want: func(int) float32 { return 1 },
	},
	{
		name: "parts of fp16",
		source: `#include "fp16.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			const float e = 1.00048828125f; // half a unit above 1, a tie
			const unsigned p = pack_fp16x2(e, 1.00146484375f);
			y[0] = p == 0x3c023c00u; y[1] = fp16_low(p) == 1.0f && fp16_high(p) == 1.001953125f;
			y[2] = isinf(fp16_low(pack_fp16x2(65520.0f, 0.0f))); y[3] = fp16_high(pack_fp16x2(0.0f, 65519.0f)) == 65504.0f;
			unsigned hi, lo; split_fp16x2(3.14159274f, -20000.123f, hi, lo);
			y[4] = fabsf(fp16_low(hi) + fp16_low(lo) - 3.14159274f) < 4e-7f; y[5] = fabsf(fp16_high(hi) + fp16_high(lo) + 20000.123f) < 3e-3f;
			y[6] = fp16_low(pack_fp16x2(0x1p-24f, 0.0f)) == 0x1p-24f && fp16_low(pack_fp16x2(0x1p-26f, 0.0f)) == 0.0f;
		}`,
		launch: threads(1, 1), in: 1, out: 7,
		want: func(int) float32 { return 1 },
	},
	{
		name: "every number of fp16",
		source: `#include "fp16.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			bool same = true;
			for (unsigned code = 0; code < 65536; ++code) {
				const float low = fp16_low(0x3c000000u | code), high = fp16_high(code << 16 | 0x3c00u), number = (float)AutotuneFormat<5, 10>::number(code);
				same = same && (isnan(number) ? isnan(low) && isnan(high) : __float_as_uint(low) == __float_as_uint(number) && __float_as_uint(high) == __float_as_uint(number));
			}
			y[0] = same;
		}`,
		launch: threads(1, 1), in: 1, out: 1,
		want: func(int) float32 { return 1 },
	},
	{
		name: "factors of TF32 times powers of two in fp16",
		source: `#include "fp16.cuh"
		#include "power_scale.cuh"
		#include "tf32.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			bool same = true, near = true, back = true, low = true;
			for (int most = -126; most < 128; most += 2)
				for (int below = 0; below < 45; ++below)
					for (int i = 0; i < 8; ++i) {
						const PowerScale scale(as_magnitude(ldexpf(1.75f, most)));
						const float v = tf32_value(ldexpf(1.0f + (i * 2654435761u >> 9) * 0x1p-23f, most - below - 1)), scaled = v * scale.power;
						const float fp16 = fp16_low(pack_fp16x2(scaled, 0.0f));
						if (most < -112) {
							low = low && fabsf(fp16 - scaled) <= 0x1p-25f;  // as far as powers of two reach
							continue;
						}
						if (below < 28) same = same && fp16 == scaled;
						near = near && fabsf(fp16 - scaled) <= 0x1p-25f;
						back = back && (most - below < -120 || unscaled(scaled, scale.inverse, 1.0f) == v);
					}
			y[0] = same; y[1] = near; y[2] = back; y[3] = low;
			const PowerScale zero(0), one(as_magnitude(-1.0f));
			y[4] = zero.power * zero.inverse == 1.0f && isfinite(zero.power); y[5] = one.power == 0x1p14f && one.inverse == 0x1p-14f;
			y[6] = unscaled(0x1p100f, 0x1p-126f, 0x1p100f) == 0x1p74f;
		}`,
		launch: threads(1, 1), in: 1, out: 7,
		want: func(int) float32 { return 1 },
	},
	{
		name: "powers of two that a sample guesses, until larger factors come",
		source: `#define MAKING_BLOCKS 1
		enum { N, C, D, H, W, KERNEL_D, KERNEL_H, KERNEL_W, C_GROUP, C_OUT, MATH_TF32 }; // of no problem
		#include "guessed_scale.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ float room[6];
			const GuessedScales scales = {room};
			const PowerScale guessed = guessed_scale(sampled(x, 4099));
			float made = 0.0f;
			const auto makes = [&](const PowerScale& scale) { made = scale.power; };
			scales.leave(the_input, guessed, as_magnitude(x[threadIdx.x]));
			scales.leave(the_weights, guessed, as_magnitude(threadIdx.x == 77 ? -17.0f * 4098.0f : 1.0f));
			__syncthreads();
			scales.again(the_input, scales.left(the_input), makes);
			y[0] = made == 0.0f && guessed.power == 2.0f && scales.inverse(the_input) == 0.5f; // 2^12 and more
			scales.again(the_weights, scales.left(the_weights), makes);
			__syncthreads();
			y[1] = made == 0.25f && scales.inverse(the_weights) == 4.0f; // at most 2^15
			y[2] = scales.inverse(the_input) == 0.5f;
		}`,
		launch: threads(1, 256), in: 4099, out: 3,
		want: func(int) float32 { return 1 },
	},
	{
		name: "asynchronous copies arrive with the wait, group by group",
		source: `#include "async_copy.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ __align__(16) float s[3][128];
			const int t = threadIdx.x;
			for (int stage = 0; stage < 3; ++stage) { async_copy<16>(&s[stage][4 * t], x + 128 * stage + 4 * t); async_copy_commit(); }
			y[t] = isnan(s[0][4 * t]);
			async_copy_wait<2>();
			y[32 + t] = s[0][4 * t + 3] == 4 * t + 3 && isnan(s[1][4 * t]);
			async_copy_wait<0>();
			__syncthreads();
			y[64 + t] = s[2][127 - t] == 383 - t;
			async_copy<8>(&s[0][2 * t], x, false); async_copy_partial<8>(&s[1][2 * t], x + 2, 4);
			async_copy_wait_all();
			y[96 + t] = s[0][2 * t] == 0.0f && s[0][2 * t + 1] == 0.0f && s[1][2 * t] == 2.0f && s[1][2 * t + 1] == 0.0f;
		}`,
		launch: threads(2, 32), in: 384, out: 128,
		want: func(int) float32 { return 1 },
	},
	{
		name: "bulk loads arrive with the wait at their mbarrier, phase by phase",
		source: `#include "bulk_copy.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ __align__(16) float s[2][128];
			__shared__ Mbarrier full[2], empty[2];
			const int t = threadIdx.x;
			if (t == 0) { for (int i = 0; i < 2; ++i) { mbarrier_init(&full[i], 1); mbarrier_init(&empty[i], 32); } publish_to_async_proxy(); }
			__syncthreads();
			if (t == 32) { // produces
				for (int i = 0; i < 4; ++i) {
					if (i >= 2) mbarrier_wait(&empty[i % 2], 0);
					mbarrier_expect(&full[i % 2], 512);
					bulk_load(s[i % 2], x + 128 * i, 256, &full[i % 2]);
					bulk_load(s[i % 2] + 64, x + 128 * i + 64, 256, &full[i % 2]);
				}
			} else if (t < 32) { // consumes
				for (int i = 0; i < 4; ++i) {
					mbarrier_wait(&full[i % 2], i / 2);
					for (int j = 0; j < 4; ++j) y[128 * i + 32 * j + t] = s[i % 2][127 - 32 * j - t];
					mbarrier_arrive(&empty[i % 2]);
				}
			}
		}`,
		launch: threads(2, 64), in: 512, out: 512,
		want: func(i int) float32 { return float32(i/128*128 + 127 - i%128) },
	},
	{
		name: "bulk loads are NaN until the wait",
		source: `#include "bulk_copy.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ __align__(16) float s[8];
			__shared__ Mbarrier full;
			mbarrier_init(&full, 1);
			mbarrier_expect(&full, 32);
			for (int i = 0; i < 8; ++i) s[i] = 1.0f;
			bulk_load(s, x + 8, 32, &full);
			y[0] = isnan(s[0]) && isnan(s[7]);
			mbarrier_wait(&full, 0);
			y[1] = s[0] == 8.0f && s[7] == 15.0f;
		}`,
		launch: threads(1, 1), in: 16, out: 2,
		want: func(int) float32 { return 1 },
	},
	{
		name: "matrices from shared memory",
		source: `#include "ldmatrix.cuh"
		extern "C" __global__ void k(const float* x, float* y) {
			__shared__ __align__(16) unsigned short m[32][8];
			for (int j = 0; j < 8; ++j) m[threadIdx.x][j] = threadIdx.x * 8 + j;
			__syncthreads();
			unsigned r[4], t[2];
			load_matrices<4>(r, m[threadIdx.x]);
			load_matrices_transposed<2>(t, m[threadIdx.x]);
			for (int i = 0; i < 4; ++i) { y[i * 64 + threadIdx.x * 2] = r[i] & 0xffff; y[i * 64 + threadIdx.x * 2 + 1] = r[i] >> 16; }
			for (int i = 0; i < 2; ++i) { y[256 + i * 64 + threadIdx.x * 2] = t[i] & 0xffff; y[256 + i * 64 + threadIdx.x * 2 + 1] = t[i] >> 16; }
		}`,
		launch: threads(1, 32), in: 1, out: 384,
		want: func(i int) float32 {
			matrix, lane, half := i/64, i%64/2, i%2
			row, column := lane/4, lane%4*2+half
			if matrix >= 4 {
				matrix, row, column = matrix-4, column, row
			}
			return float32(matrix*64 + row*8 + column)
		},
	},
}

func TestShim(t *testing.T) {
	for sanitize, cases := range map[bool][]shimCase{false: shimCases, true: endurance.Some(shimCases, 8)} {
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s/sanitize=%v", c.name, sanitize), func(t *testing.T) {
				t.Parallel()
				c.prove(t, mustCompile(t, tinyKernel(t, c.source), sanitize))
			})
		}
	}
}

// boxKernel copies two rows of eight floats, which begin at the given column, from a matrix of twelve columns.
func boxKernel(column int) string {
	return fmt.Sprintf(`#include "tensor_map.cuh"
		extern "C" __global__ void k(const __grid_constant__ TensorMap map, float* y) {
			__shared__ __align__(128) float s[16];
			__shared__ Mbarrier full;
			if (threadIdx.x == 0) {
				mbarrier_init(&full, 1);
				mbarrier_expect(&full, 64);
				tensor_load(s, &map, {%d, 1, 0}, &full);
				mbarrier_wait(&full, 0);
				for (int i = 0; i < 16; ++i) y[i] = s[i];
			}
		}`, column)
}

// A box that is copied may begin outside of the tensor, but only at a multiple of 16 bytes in a row; otherwise a GPU
// reports "illegal instruction".
func TestBoxesBeginAt16Bytes(t *testing.T) {
	launch := threads(1, 32)
	launch.Maps = []operator.TensorMap{{Words: [7]int64{2<<4 | 7<<7 | 3<<32, 12, 0, 11 | 3<<32, 0, 7 << 56, 1}}}
	copied := func(column int) ([]float32, error) {
		return runTiny(t.Context(), mustCompile(t, tinyKernel(t, boxKernel(column)), column == 8), launch, counting(48), 16)
	}
	for _, column := range []int{-4, 0, 8} {
		got, err := copied(column)
		must.OK(t, err)
		for i, v := range got {
			at, want := column+i%8, float32(0)
			if at >= 0 && at < 12 {
				want = float32((1+i/8)*12 + at)
			}
			if v != want {
				t.Errorf("from column %d: element %d is %v, not %v", column, i, v, want)
			}
		}
	}
	for _, column := range []int{-1, 2} {
		if _, err := copied(column); err == nil || !strings.Contains(err.Error(), "a box begins at a multiple of 16 bytes of a row") {
			t.Errorf("from column %d: %v, want that boxes begin at multiples of 16 bytes", column, err)
		}
	}
}

// A kernel must have a tensor map as a parameter exactly where the launch passes one.
func TestTensorMapsAreTaken(t *testing.T) {
	mapped, plain := threads(1, 32), threads(1, 32)
	mapped.Maps = []operator.TensorMap{{}}
	for _, c := range []struct {
		takes, want string
		launch      operator.Launch
	}{
		{"const float* x", "the kernel takes const float*, the launch passes a tensor map, which is const __grid_constant__ TensorMap", mapped},
		{"const __grid_constant__ TensorMap x", "the kernel takes TensorMap, the operator has a tensor of f32, which is float*", plain},
		{"const TensorMap* x", "the kernel takes const void*, the launch passes a tensor map", mapped},
	} {
		source := "#include \"tensor_map.cuh\"\nextern \"C\" __global__ void k(" + c.takes + ", float* y) { y[threadIdx.x] = 1; }"
		_, err := runTiny(t.Context(), mustCompile(t, tinyKernel(t, source), false), c.launch, counting(32), 32)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.takes, err, c.want)
		}
	}
}

// A product of fragments must equal the product of the matrices that the fragments represent by the instruction's
// definition. The kernels of this test compute the product of the matrices independently of the fragments.
func TestMma(t *testing.T) {
	for _, c := range []struct {
		name, call, a, b string
		k                int
		round            func(float32) float32
	}{
		{
			name: "tf32", k: 8, call: "mma_m16n8k8_tf32",
			a:     "for (int i = 0; i < 4; ++i) a[i] = round_to_tf32(A[(g + 8 * (i & 1)) * 8 + t + 4 * (i >> 1)]);",
			b:     "for (int i = 0; i < 2; ++i) b[i] = round_to_tf32(B[(t + 4 * i) * 8 + g]);",
			round: func(x float32) float32 { return math.Float32frombits((math.Float32bits(x) + 0x1000) &^ 0x1fff) },
		},
		{
			name: "bf16", k: 16, call: "mma_m16n8k16_bf16",
			a: "for (int i = 0; i < 4; ++i) { const float* r = A + (g + 8 * (i & 1)) * 16 + 2 * t + 8 * (i >> 1); a[i] = pack_bf16x2(r[0], r[1]); }",
			b: "for (int i = 0; i < 2; ++i) { const float* r = B + (2 * t + 8 * i) * 8 + g; b[i] = pack_bf16x2(r[0], r[8]); }",
			round: func(x float32) float32 {
				b := math.Float32bits(x)
				return math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
			},
		},
		{
			name: "fp16", k: 16, call: "mma_m16n8k16_fp16",
			a:     "for (int i = 0; i < 4; ++i) { const float* r = A + (g + 8 * (i & 1)) * 16 + 2 * t + 8 * (i >> 1); a[i] = pack_fp16x2(r[0], r[1]); }",
			b:     "for (int i = 0; i < 2; ++i) { const float* r = B + (2 * t + 8 * i) * 8 + g; b[i] = pack_fp16x2(r[0], r[8]); }",
			round: toHalf,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := mustCompile(t, tinyKernel(t, `#include "mma.cuh"
				#include "tf32.cuh"
				#include "bf16.cuh"
				#include "fp16.cuh"
				extern "C" __global__ void k(const float* A, const float* B, float* D) {
					const int g = threadIdx.x / 4, t = threadIdx.x % 4;
					unsigned a[4], b[2];
					float d[4] = {1.0f, 1.0f, 1.0f, 1.0f};
					`+c.a+c.b+c.call+`(d, a, b);
					for (int i = 0; i < 4; ++i) D[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = d[i];
				}`), false)
			tensors := []HostTensor{
				HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, scrambled(16*c.k)),
				HostTensorOf(operator.Argument{Role: operator.Input, Type: operator.F32}, scrambled(c.k*8)),
				HostTensorOf(operator.Argument{Role: operator.Output, Type: operator.F32}, make([]float32, 128)),
			}
			must.OK(t, Run(t.Context(), b, threads(1, 32), tensors))
			in, out := [2][]float32{tensors[0].Floats(), tensors[1].Floats()}, tensors[2].Floats()
			for row := range 16 {
				for column := range 8 {
					want := 1.0
					for k := range c.k {
						want += float64(c.round(in[0][row*c.k+k])) * float64(c.round(in[1][k*8+column]))
					}
					if got := out[row*8+column]; got != float32(want) {
						t.Fatalf("element %d,%d is %v, not %v", row, column, got, float32(want))
					}
				}
			}
		})
	}
}

// toHalf rounds to half precision, ties to even: to eleven significant bits, or to a multiple of 2^-24 if subnormal.
func toHalf(x float32) float32 {
	_, exponent := math.Frexp(float64(x))
	unit := math.Ldexp(1, max(exponent-11, -24))
	return float32(math.RoundToEven(float64(x)/unit) * unit)
}

func scrambled(n int) []float32 {
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(int32(bits.RotateLeft32(uint32(i+1)*2654435761, 7))) / (1 << 31)
	}
	return data
}
