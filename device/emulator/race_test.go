package emulator

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/endurance"
)

// raceOperator describes the operator whose kernels race; its outputs are not compared.
const raceOperator = `operator: racing
summary: kernels that race, and kernels that do not
shape: [n]
tensors:
  - {name: x, role: input, type: i32, shape: [n]}
  - {name: sums, role: workspace, type: i32, shape: [n]}
  - {name: y, role: output, type: i32, shape: [n]}
inputs: [uniform01]
cost: [8*n]
reference: reference.cu
templates:
`

const raceHead = `#include <cooperative_groups.h>
#include "helpers.cuh"
#define N 256
#define THREADS 64
#define I (blockIdx.x * THREADS + threadIdx.x)
namespace cg = cooperative_groups;
extern "C" __global__ void KERNEL(const int* x, int* sums, int* y) {
	const int t = threadIdx.x;
`

const raceHelpers = `#pragma once
#include "async_copy.cuh"
#include "named_barrier.cuh"
inline __device__ void plain_add(int* at, int by) {
	*at += by;
}
`

// raceLine is the line of the generated file at which a case's body begins.
const raceLine = 10

// raceCase is the body of a kernel that runs with 4 blocks of 64 threads. //! marks the line that races, and //? marks
// the line that it races with. A body without the marks //! and //? has no race.
type raceCase struct {
	name, body string
	launch     string // more of the launch
	where      string // of a race: a regular expression of its words
}

var raceCases = []raceCase{
	{name: "histogram", where: `y\[\d\] \(global memory, 4 bytes\) which thread \d+ of block 0 (read|wrote) .*; use an atomic or __syncthreads\(\)$`,
		body: "y[I * 7 / 3 % 4] += 1; //!?"},
	{name: "histogram_atomic", body: "atomicAdd(&y[I * 7 / 3 % 4], 1);"},
	{name: "histogram_helper", where: `^race: helpers.cuh:5 \(called at k_histogram_helper.cu:10\): .* y\[\d\]`, body: "plain_add(&y[I * 7 / 3 % 4], 1);"},
	{name: "histogram_shared", where: `bins \(shared memory, 4 bytes\)`, body: `__shared__ int bins[4];
if (t < 4) bins[t] = 0;
__syncthreads();
bins[I * 7 / 3 % 4] += 1; //!?
__syncthreads();
if (t < 4) atomicAdd(&y[t], bins[t]);`},
	{name: "histogram_shared_atomic", body: `__shared__ int bins[4];
if (t < 4) bins[t] = 0;
__syncthreads();
atomicAdd(&bins[I * 7 / 3 % 4], 1);
__syncthreads();
if (t < 4) atomicAdd(&y[t], bins[t]);`},
	{name: "no_barrier", where: `tile \(shared memory, 4 bytes\) which thread \d+ of block 0 (wrote|read)`, body: `__shared__ int tile[THREADS];
tile[t] = x[I]; //!?
y[I] = tile[THREADS - 1 - t]; //!?`},
	{name: "barrier", body: `__shared__ int tile[THREADS];
tile[t] = x[I];
__syncthreads();
y[I] = tile[THREADS - 1 - t];`},
	{name: "no_second_barrier", where: `tile \(shared memory, 4 bytes\) which thread \d+ of block 0 (wrote|read)`, body: `__shared__ int tile[THREADS];
int sum = 0;
for (int step = 0; step < 3; ++step) {
	tile[t] = x[I] + step; //!?
	__syncthreads();
	sum += tile[THREADS - 1 - t]; //!?
}
y[I] = sum;`},
	{name: "double_buffer", body: `__shared__ int tile[2][THREADS];
int sum = 0;
for (int step = 0; step < 4; ++step) {
	tile[step % 2][t] = x[I] + step;
	__syncthreads();
	sum += tile[step % 2][THREADS - 1 - t];
}
y[I] = sum;`},
	{name: "dynamic", launch: "shared: 256,", where: `the block's memory \(dynamic shared memory, 4 bytes\)`, body: `extern __shared__ int tile[];
tile[t] = x[I]; //!?
y[I] = tile[THREADS - 1 - t]; //!?`},
	{name: "bytes", body: `__shared__ unsigned char tile[THREADS];
tile[t] = x[I];
__syncthreads();
y[I] = tile[THREADS - 1 - t];`},
	{name: "two_blocks", where: `y\[\d+\] \(global memory, 4 bytes\) which thread \d+ of block \d wrote .* no order between them; use an atomic, or two launches$`,
		body: "y[t] = (int)blockIdx.x + 1; //!?"},
	{name: "same_value", body: "y[0] = 1; y[I] = 1;"},
	{name: "flag_of_threads", body: `__shared__ int any;
if (t == 0) any = 0;
__syncthreads();
if (t % 3 == 0) any = 1;
__syncthreads();
y[I] = any;`},
	{name: "warp_without_sync", where: `s \(shared memory`, body: `__shared__ int s[THREADS];
s[t] = x[I];
__syncthreads();
if (t < 32) {
	for (int d = 16; d > 0; d /= 2)
		if (t < d) s[t] += s[t + d] + 1; //!?
}
__syncthreads();
y[I] = s[0];`},
	{name: "warp_sync", body: `__shared__ int s[THREADS];
s[t] = x[I];
__syncthreads();
if (t < 32) {
	for (int d = 16; d > 0; d /= 2) {
		if (t < d) s[t] += s[t + d] + 1;
		__syncwarp();
	}
}
__syncthreads();
y[I] = s[0];`},
	{name: "warp_shuffle", body: `__shared__ int s[2];
int sum = x[I];
for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
if (t % 32 == 0) s[t / 32] = sum;
__syncthreads();
y[I] = s[0] + s[1];`},
	{name: "other_warp", where: `s \(shared memory`, body: `__shared__ int s[2];
int sum = x[I];
for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
if (t % 32 == 0) s[t / 32] = sum + (int)blockIdx.x; //!?
__syncwarp();
y[I] = s[0] + s[1]; //!?`},
	{name: "across_blocks", where: `sums\[\d+\] \(global memory`, body: `sums[I] = x[I]; //!?
__threadfence();
__syncthreads();
y[I] = sums[(I + THREADS) % N]; //!?`},
	{name: "last_block", body: `__shared__ int last;
if (t == 0) {
	sums[4 + blockIdx.x] = x[I] + 1;
	__threadfence();
	last = atomicAdd(&sums[0], 1) == sums[200] + 3;
}
__syncthreads();
if (last) y[t] = sums[4] + sums[5] + sums[6] + sums[7];
if (last && t == 0) sums[0] = sums[200];`, launch: "zero"},
	{name: "last_block_without_fence", where: `sums\[4\] \(global memory`, body: `__shared__ int last;
if (t == 0) {
	sums[4 + blockIdx.x] = x[I] + 1; //?
	last = atomicAdd(&sums[0], 1) == sums[200] + 3;
}
__syncthreads();
if (last) y[t] = sums[4] + sums[5] + sums[6] + sums[7]; //!`, launch: "zero"},
	{name: "flag", body: `if (t == 0) {
	if (blockIdx.x > 0) {
		while (*(volatile int*)&sums[blockIdx.x - 1] != 77) {}
		__threadfence();
		sums[100 + blockIdx.x] = sums[99 + blockIdx.x] + 1;
	} else {
		sums[100] = 1;
	}
	__threadfence();
	*(volatile int*)&sums[blockIdx.x] = 77;
}`},
	{name: "plain_beside_atomic", where: `sums\[9\] \(global memory, 4 bytes\) which thread \d+ of block \d (read|wrote by an atomic)`, body: `atomicAdd(&sums[9], 1); //!?
y[I] = sums[9]; //!?`},
	{name: "grid_sync", launch: "cooperative: true,", body: `sums[I] = x[I];
cg::this_grid().sync();
y[I] = sums[(I + THREADS) % N];
cg::this_grid().sync();
sums[(I + 2 * THREADS) % N] = 3;`},
	{name: "no_grid_sync", launch: "cooperative: true,", where: `sums\[\d+\]`, body: `sums[I] = x[I]; //!?
cg::this_grid().sync();
y[I] = sums[(I + THREADS) % N]; //!?
sums[(I + 2 * THREADS) % N] = 3; //!?`},
	{name: "cluster", launch: "cluster: [2, 1, 1],", body: `__shared__ int s[THREADS];
s[t] = x[I];
cg::this_cluster().sync();
y[I] = cg::this_cluster().map_shared_rank(s, blockIdx.x % 2 ^ 1)[t];
cg::this_cluster().sync();`},
	{name: "cluster_late", launch: "cluster: [2, 1, 1],", where: `shared memory`, body: `__shared__ int s[THREADS];
s[t] = x[I]; //!?
cg::this_cluster().sync();
y[I] = cg::this_cluster().map_shared_rank(s, blockIdx.x % 2 ^ 1)[t]; //!?
s[t] = -1; //!?
cg::this_cluster().sync();`},
	{name: "async", body: `__shared__ int s[2][THREADS];
async_copy<4>(&s[0][t], &x[I]);
async_copy_commit();
int sum = 0;
for (int step = 0; step < 3; ++step) {
	async_copy<4>(&s[(step + 1) % 2][t], &x[I]);
	async_copy_commit();
	async_copy_wait<1>();
	__syncthreads();
	sum += s[step % 2][THREADS - 1 - t];
	__syncthreads();
}
async_copy_wait<0>();
y[I] = sum;`},
	{name: "async_too_early", where: `s \(shared memory`, body: `__shared__ int s[2][THREADS];
async_copy<4>(&s[0][t], &x[I]);
async_copy_commit();
int sum = 0;
for (int step = 0; step < 3; ++step) {
	async_copy<4>(&s[(step + 1) % 2][t], &x[I]); //!?
	async_copy_commit();
	async_copy_wait<1>();
	__syncthreads();
	sum += s[step % 2][THREADS - 1 - t]; //!?
}
async_copy_wait<0>();
y[I] = sum;`},
	{name: "named", body: `__shared__ int s[32];
if (t < 32) {
	s[t] = x[I];
	named_barrier_arrive(1, 64);
} else {
	named_barrier_wait(1, 64);
	y[I] = s[t - 32];
}`},
	{name: "named_other", where: `s \(shared memory`, body: `__shared__ int s[32];
if (t < 32) {
	s[t] = x[I]; //!?
	named_barrier_arrive(1, 64);
	s[t] = 5; //!?
} else {
	named_barrier_wait(1, 64);
	y[I] = s[t - 32]; //!?
}`},
	{name: "device_variable", where: `counter \(global memory`, body: `++counter; //!?
y[I] = 0;`},
	{name: "long", body: `for (int r = 0; r < 150000; ++r) { // more words than are looked at
	sums[I] += r;
	asm volatile("" ::: "memory");
}`},
	{name: "lock", body: `if (t == 0) {
	while (atomicCAS(&counter, 0, 1) != 0) {}
	__threadfence();
	sums[3] += x[I] + 1;
	__threadfence();
	atomicExch(&counter, 0);
}`},
}

// marked returns the numbers of the lines that end in the given mark.
func marked(body string, mark byte) map[string]bool {
	found := map[string]bool{}
	for i, line := range strings.Split(body, "\n") {
		if _, marks, ok := strings.Cut(line, "//"); ok && strings.IndexByte(marks, mark) >= 0 {
			found[fmt.Sprint(raceLine+i)] = true
		}
	}
	return found
}

var racePlaces = regexp.MustCompile(`k_\w+\.cu:(\d+)`)

func TestRaces(t *testing.T) {
	needCompiler(t)
	includes := tinyKernel(t, "#include").Includes
	files := fstest.MapFS{
		"reference.cu": {Data: []byte("extern \"C\" __global__ void racing_reference(const int* x, int* sums, int* y) {\n\tconst int i = blockIdx.x * blockDim.x + threadIdx.x;\n\tif (i < 256) y[i] = x[i];\n}\n")},
		"helpers.cuh":  {Data: []byte(raceHelpers)},
	}
	yaml := raceOperator
	for name, text := range includes {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	for _, c := range raceCases {
		file := "k_" + c.name + ".cu"
		files[file] = &fstest.MapFile{Data: []byte(raceHead + c.body + "\n}\n")}
		files[file].Data = []byte(strings.NewReplacer("KERNEL", "racing_"+c.name, "#define N 256", "__device__ int counter;\n#define N 256").Replace(string(files[file].Data)))
		yaml += fmt.Sprintf("  - name: %s\n    source: %s\n    launch: {%s block: [64, 1, 1], grid: [4, 1, 1]}\n", c.name, file, strings.TrimPrefix(c.launch, "zero"))
	}
	files["op.yaml"] = &fstest.MapFile{Data: []byte(yaml)}
	p := loaded(t, files, 256)
	b := openBench(t, Options{CacheDir: testCache}, p, device.DefaultProtocol())
	for _, c := range endurance.Some(raceCases, 22) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, looked := b.races(t, c.name)
			if c.name == "long" {
				if o.Status != trial.OK || !strings.HasPrefix(looked, "no data race in 1 launch (") || !strings.HasSuffix(looked, "; looked at the first 2 of 4 blocks)") {
					t.Errorf("%s: %s; looked: %s", o.Status, o.Message, looked)
				}
				return
			}
			if c.where == "" {
				if o.Status != trial.OK || !strings.HasPrefix(looked, "no data race in 2 launches") {
					t.Errorf("%s: %s; looked: %s", o.Status, o.Message, looked)
				}
				return
			}
			if o.Status != trial.WrongResult || !strings.HasPrefix(o.Message, "race: ") || !regexp.MustCompile(c.where).MatchString(o.Message) {
				t.Fatalf("%s: %s; looked: %s; want %s", o.Status, o.Message, looked, c.where)
			}
			by, with := marked(c.body, '!'), marked(c.body, '?')
			places := racePlaces.FindAllStringSubmatch(o.Message, -1)
			if len(by) > 0 && (len(places) != 2 || !by[places[0][1]] || !with[places[1][1]]) {
				t.Errorf("%s; want lines %v and %v", o.Message, by, with)
			}
		})
	}
}
