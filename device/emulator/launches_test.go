package emulator

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/operator"
)

// totals describes an operator on integers: y = weights[i % 16] * x plus the sum of all x.
const totals = `operator: totals
summary: Each element and the sum of all.
shape: [n]
tensors:
  - {name: x, role: input, type: i32, shape: [n]}
  - {name: weights, role: constant, type: i32, shape: [16]}
  - {name: sums, role: workspace, type: i32, shape: [n]}
  - {name: count, type: i32, value: n}
  - {name: y, role: output, type: i32, shape: [n]}
inputs: [uniform01]
cost: [8*n]
reference: reference.cu
templates:
`

const totalsReference = `__constant__ int weights[16];
extern "C" __global__ void totals_reference(const int* x, int* sums, int count, int* y) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= count) return;
	int sum = 0;
	for (int k = 0; k < count; ++k) sum += x[k];
	y[i] = weights[i % 16] * x[i] + sum;
}
`

// The macro MODE selects which fault a kernel has.
const totalsKernels = `#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#ifndef FLAG
#error "the flag is lost"
#endif
#if MODE == 1
__constant__ int other[16];
#define weights other
#elif MODE == 2
__constant__ int weights[15];
#else
__constant__ int weights[16];
#endif

__global__ void clear(int* sums) { sums[threadIdx.x] = 0; }

namespace parts {
template <class T, int Threads> __global__ void add(const T* __restrict__ x, T* sums, int count) {
	const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
	const int i = blockIdx.x * Threads + threadIdx.x;
	const T sum = cg::reduce(tile, i < count ? x[i] : 0, cg::plus<T>());
	if (tile.thread_rank() == 0) atomicAdd(sums, sum);
}
}
template <class T> __global__ void twice(T* sums) { if (threadIdx.x == 0) sums[0] *= 2; }
__global__ void look(const int* y, int* sums) { sums[0] = y[0]; }

__global__ void spread(const int* x, const int* sums, int count, int* y) {
#if MODE == 13
	cudaGridDependencySynchronize();
#endif
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= count) return;
	y[i] = weights[i % 16] * x[i] + sums[0];
#if MODE == 3
	if (i == 5) y[i] += 1;
#elif MODE == 4
	if (i == 5) y[count] = 1;
#elif MODE == 5
	if (i == 5) weights[3] = 1;
#elif MODE == 6
	if (i == 5) y[i] = x[1ll << 40];
#elif MODE == 7
	if (i == 5) __syncwarp(); else __syncthreads();
#elif MODE == 8
	while (i == 5) y[i] = *(volatile const int*)x;
#endif
}

// The blocks of a cooperative grid compute one sum.
__global__ void together(const int* x, int* sums, int count, int* y) {
	const cg::grid_group grid = cg::this_grid();
	const int rank = (int)grid.thread_rank();
#if MODE == 9
	if (blockIdx.x == 1) return;
#endif
	if (rank == 0) sums[0] = 0;
	grid.sync();
	for (int i = rank; i < count; i += (int)grid.size()) atomicAdd(sums, x[i]);
#if MODE != 10
	grid.sync();
#endif
	for (int i = rank; i < count; i += (int)grid.num_threads()) y[i] = weights[i % 16] * x[i] + sums[0];
}

// The blocks compute one sum, and wait at a barrier made by hand, which spins.
__global__ void by_hand(const int* x, int* sums, int count, int* y) {
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) atomicAdd(sums, x[i]);
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd(sums + 1, 1);
		while (*(volatile int*)(sums + 1) < gridDim.x) {}
		atomicAdd(sums + 2, 1);
		while (atomicAdd(sums + 2, 0) < gridDim.x) {}
		atomicAdd(sums + 3, 1);
		while (__ldcg(sums + 3) < gridDim.x) {}
	}
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) y[i] = weights[i % 16] * x[i] + sums[0];
}

// Each cluster computes the sum of all elements, and each of its blocks adds up a part of them.
__global__ void __cluster_dims__(4, 1, 1) clustered(const int* x, int* sums, int count, int* y) {
	const cg::cluster_group cluster = cg::this_cluster();
	__shared__ int mine;
	extern __shared__ int all[];
	if (threadIdx.x == 0) mine = 0;
	__syncthreads();
	for (int i = cluster.thread_rank(); i < count; i += cluster.num_threads()) atomicAdd(&mine, x[i]);
#if MODE != 11
	cluster.sync();
#endif
	const int rank = cluster.block_rank(), blocks = cluster.num_blocks();
	if (threadIdx.x < blocks) cluster.map_shared_rank(all, threadIdx.x)[rank] = mine;
	cluster.barrier_arrive();
	cluster.barrier_wait();
	int sum = 0;
	for (int k = 0; k < blocks; ++k) sum += all[k];
	if (sum != 0 && threadIdx.x == 0) { // and the other way: what the others counted
		int again = 0;
		for (int k = 0; k < blocks; ++k) again += *cluster.map_shared_rank(&mine, k);
		if (again != sum) __trap();
	}
#if MODE != 12
	cluster.sync();
#endif
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < count) y[i] = weights[i % 16] * x[i] + sum;
}
`

// The following constants are launches of the test operator totals, as written in op.yaml.
const (
	clearing  = `{entry: clear, block: [64, 1, 1], grid: [1, 1, 1], arguments: [sums]}`
	adding    = `{entry: "parts::add<int, 64>", block: [64, 1, 1], grid: ["ceil_div(n, 64)", 1, 1], arguments: [x, sums, count]}`
	spreading = `{entry: spread, block: [64, 1, 1], grid: ["ceil_div(n, 64)", 1, 1]}`
)

// dependent turns a launch into one that may begin before the previous launch has ended.
func dependent(launch string) string {
	return strings.Replace(launch, "block:", "dependent: true, block:", 1)
}

func gridOf(entry, more string) string {
	return fmt.Sprintf(`{entry: %q, block: [64, 1, 1], grid: [8, 1, 1], %s}`, entry, more)
}

type launchCase struct {
	name     string
	mode     int
	launches []string
	status   trial.Status
	message  string // a regular expression
}

var launchCases = []launchCase{
	{name: "three", launches: []string{clearing, adding, spreading}, status: trial.OK},
	{name: "order", launches: []string{adding, clearing, spreading}, status: trial.WrongResult, message: `^y differs from the reference in 1000 of 1000 elements`},
	{name: "twice", launches: []string{clearing, adding, strings.Replace(clearing, "clear", `"twice<int>"`, 1), adding, spreading}, status: trial.WrongResult, message: `^y differs`},
	{name: "instances", launches: []string{clearing, adding, strings.Replace(clearing, "clear", `"twice<unsigned int>"`, 1), spreading}, status: trial.LaunchError,
		message: `^twice<unsigned int>: argument 1, sums: the kernel takes unsigned\*, the operator has a tensor of i32, which is int\*$`},
	{name: "swapped", launches: []string{clearing, strings.Replace(adding, "[x, sums, count]", "[x, count, sums]", 1), spreading}, status: trial.LaunchError,
		message: `^parts::add<int, 64>: argument 2, count: the kernel takes int\*, the operator has a scalar of i32, which is int$`},
	{name: "fewer", launches: []string{clearing, strings.Replace(adding, ", count]", "]", 1), spreading}, status: trial.LaunchError,
		message: `^parts::add<int, 64>: the kernel takes 3 arguments, the launch passes 2$`},
	{name: "read_again", launches: []string{clearing, adding, spreading, `{entry: look, block: [64, 1, 1], grid: [1, 1, 1], arguments: [y, sums]}`}, status: trial.OK},
	{name: "only_read", launches: []string{clearing, adding, `{entry: look, block: [64, 1, 1], grid: [1, 1, 1], arguments: [y, sums]}`}, status: trial.LaunchError,
		message: `^look: argument 1, y: the kernel takes const int\*, the operator has an output of i32, which is int\*$`},

	{name: "no_symbol", mode: 1, launches: []string{clearing, adding, spreading}, status: trial.LaunchError, message: `^the kernel has no __constant__ variable weights for weights$`},
	{name: "small_symbol", mode: 2, launches: []string{clearing, adding, spreading}, status: trial.LaunchError, message: `^the __constant__ variable weights has 60 bytes, weights takes 64$`},
	{name: "element", mode: 3, launches: []string{clearing, adding, spreading}, status: trial.WrongResult, message: `^y differs from the reference in 1 of 1000 elements, first at \[5\]`},
	{name: "behind", mode: 4, launches: []string{clearing, adding, spreading}, status: trial.WrongResult, message: `^wrote 1 element past the end of y$`},
	{name: "writes_symbol", mode: 5, launches: []string{clearing, adding, spreading}, status: trial.WrongResult, message: `^wrote to the constant memory that holds weights$`},
	{name: "wild", mode: 6, launches: []string{clearing, adding, spreading}, status: trial.Crashed, message: `^spread: illegal address, .*far from every tensor, block \(0,0,0\), thread \(5,0,0\)$`},
	{name: "stuck", mode: 7, launches: []string{clearing, adding, spreading}, status: trial.Timeout, message: `^spread: deadlock: block \(0,0,0\): 63 of 64 threads wait at __syncthreads, 1 of 64 threads waits at __syncwarp`},
	{name: "endless", mode: 8, launches: []string{clearing, adding, spreading}, status: trial.Timeout, message: `^spread: the launch ran longer than 1000 ms$`},

	{name: "dependent", mode: 13, launches: []string{clearing, adding, dependent(spreading)}, status: trial.OK},
	{name: "hasty", launches: []string{clearing, adding, dependent(spreading)}, status: trial.Crashed, message: `^spread: block \(\d+,0,0\), thread \(0,0,0\) ends without cudaGridDependencySynchronize\(\)`},
	{name: "first", launches: []string{dependent(clearing), adding, spreading}, status: trial.OK}, // depends on nothing
	{name: "together", launches: []string{gridOf("together", "cooperative: true")}, status: trial.OK},
	{name: "alone", launches: []string{gridOf("together", "shared: 0")}, status: trial.Crashed, message: `^grid.sync\(\) in a launch that is not cooperative: .*cooperative: true`},
	{name: "many", launches: []string{clearing, strings.Replace(gridOf("together", "cooperative: true"), "[8,", "[5000,", 1)}, status: trial.Pruned,
		message: `^together: a cooperative launch of 5000 blocks: at most 4224 run at once, 32 on each of 132 multiprocessors$`},
	{name: "absent", mode: 9, launches: []string{gridOf("together", "cooperative: true")}, status: trial.Timeout,
		message: `^deadlock: block \(\d,0,0\): 64 of 64 threads wait at grid.sync that others never reach \(1 of the 8 blocks that run at once has ended\)$`},
	{name: "no_sync", mode: 10, launches: []string{gridOf("together", "cooperative: true")}, status: trial.WrongResult, message: `^y differs`},
	{name: "by_hand", launches: []string{clearing, gridOf("by_hand", "cooperative: true")}, status: trial.OK},

	{name: "clusters", launches: []string{strings.Replace(gridOf("clustered", "cluster: [4, 1, 1], shared: 64"), "[8,", "[16,", 1)}, status: trial.OK},
	{name: "cooperative_clusters", launches: []string{strings.Replace(gridOf("clustered", "cluster: [2, 1, 1], shared: 64, cooperative: true"), "[8,", "[16,", 1)}, status: trial.OK},
	{name: "no_clusters", launches: []string{strings.Replace(gridOf("clustered", "shared: 64"), "[8,", "[16,", 1)}, status: trial.OK},
	{name: "early", mode: 11, launches: []string{strings.Replace(gridOf("clustered", "cluster: [4, 1, 1], shared: 64"), "[8,", "[16,", 1)}, status: trial.Crashed, message: `trapped|map_shared_rank`},
	{name: "leaves", mode: 12, launches: []string{strings.Replace(gridOf("clustered", "cluster: [4, 1, 1], shared: 64"), "[8,", "[16,", 1)}, status: trial.Crashed,
		message: `^map_shared_rank asks for a block that has ended; .*block \(\d+,0,0\), thread \(0,0,0\)$`},
}

func totalsProblem(t *testing.T, cases []launchCase) *operator.Problem {
	t.Helper()
	yaml := totals
	for _, c := range cases {
		yaml += fmt.Sprintf("  - name: %s\n    source: kernels.cu\n    tunables: {mode: [%d]}\n    flags: [\"-DFLAG=1\", --use_fast_math]\n    default: {mode: %d}\n    launch:\n", c.name, c.mode, c.mode)
		for _, l := range c.launches {
			yaml += "      - " + l + "\n"
		}
	}
	files := fstest.MapFS{"op.yaml": {Data: []byte(yaml)}, "reference.cu": {Data: []byte(totalsReference)}, "kernels.cu": {Data: []byte(totalsKernels)}}
	return loaded(t, files, 1000)
}

func TestLaunches(t *testing.T) {
	needCompiler(t)
	p := totalsProblem(t, launchCases)
	proto := device.DefaultProtocol()
	proto.LaunchTimeout = time.Second
	b := openBench(t, Options{CacheDir: testCache}, p, proto)
	for _, c := range launchCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := b.evaluate(t, c.name)
			if e.Status != c.status || c.message == "" != (e.Message == "") || !regexp.MustCompile(c.message).MatchString(e.Message) {
				t.Errorf("%s, %q; want %s, %s", e.Status, e.Message, c.status, c.message)
			}
			if e.Status != trial.OK {
				return
			}
			if len(e.SamplesMS) == 0 {
				t.Error("no samples")
			}
			if o := b.check(t, c.name, device.Check{Launches: 4, Exact: true}); o.Status != trial.OK {
				t.Errorf("launched again: %s: %s", o.Status, o.Message)
			}
		})
	}
}

// The sanitizers detect faults in single launches of a sequence, and in accesses to the shared memory of other blocks.
func TestLaunchesSanitized(t *testing.T) {
	needCompiler(t)
	p := totalsProblem(t, launchCases)
	b := openBench(t, Options{Sanitize: true, CacheDir: testCache}, p, device.DefaultProtocol())
	for template, message := range map[string]string{
		"together": "", "by_hand": "", "clusters": "",
		"behind": `^kernels.cu:\d+: out-of-bounds write of 4 bytes, 0 bytes past the end of y, block \(0,0,0\), thread \(5,0,0\)$`,
	} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			if e := b.evaluate(t, template); e.Status == trial.OK != (message == "") || !regexp.MustCompile(message).MatchString(e.Message) {
				t.Errorf("%s, %q; want %s", e.Status, e.Message, message)
			}
		})
	}
}
