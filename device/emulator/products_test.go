package emulator

import (
	"testing"

	"autotune/internal/test/must"
)

// productsKernel multiplies ones by ones, 16 deep. A warp writes zeros over them when it is told that it may.
func productsKernel(body string) string {
	return `#include "async_proxy.cuh"
		#include "fp16.cuh"
		#include "mbarrier.cuh"
		#include "wgmma_shared.cuh"
		extern "C" __global__ void k(const float*, float* y) {
			__shared__ __align__(128) unsigned ones[512];
			__shared__ Mbarrier given;
			for (int i = threadIdx.x; i < 512; i += blockDim.x) ones[i] = pack_fp16x2(1.0f, 1.0f);
			if (threadIdx.x == 0) mbarrier_init(&given, 128);
			publish_to_async_proxy();
			__syncthreads();
			if (threadIdx.x >= 128) {
				mbarrier_wait(&given, 0);
				for (int i = threadIdx.x - 128; i < 512; i += 32) ones[i] = 0;
				return;
			}
			const unsigned one = pack_fp16x2(1.0f, 1.0f), a[4] = {one, one, one, one};
			float d[32] = {};
			const auto multiply = [&] {
				wgmma_fence();
				wgmma_fp16<64>(d, a, Slabs{reinterpret_cast<const char*>(ones), 1024}, true);
				wgmma_commit();
			};
			` + body + `
			y[threadIdx.x] = d[0] + d[31];
		}`
}

// Products read shared memory, and their sums are there, when they are waited for and not before.
func TestProductsEndLate(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       float32
	}{
		{"given back in time", "multiply(); wgmma_wait(d); mbarrier_arrive(&given);", 32},
		{"given back early", "multiply(); mbarrier_arrive(&given); wgmma_wait(d);", 0},
		{"a product left under way", "multiply(); multiply(); wgmma_wait<1>(d); const float had = d[0]; wgmma_wait(d); d[0] = had; mbarrier_arrive(&given);", 16 + 32},
		{"given back while one is under way", "multiply(); multiply(); wgmma_wait_groups<1>(); mbarrier_arrive(&given); wgmma_wait(d);", 32},
		{"no wait", "multiply(); mbarrier_arrive(&given);", 0},
		{"no commit", "wgmma_fp16<64>(d, a, Slabs{reinterpret_cast<const char*>(ones), 1024}, true); wgmma_wait(d); mbarrier_arrive(&given);", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := runTiny(t.Context(), mustCompile(t, tinyKernel(t, productsKernel(c.body)), false), threads(1, 160), counting(1), 128)
			must.OK(t, err)
			for i, v := range got {
				if v != c.want {
					t.Fatalf("element %d is %v, not %v", i, v, c.want)
				}
			}
		})
	}
}
