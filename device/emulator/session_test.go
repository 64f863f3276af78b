package emulator

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
)

// doubling describes an operator, y = 2 x + bias, with one template for each way in which a kernel can fail.
const doubling = `operator: doubling
summary: Twice the input.
shape: [n]
tensors:
  - {name: x, role: input, shape: [n]}
  - {name: bias, role: weight, shape: [0]}
  - {name: y, role: output, shape: [n]}
inputs: [uniform01, normal, negative]
cost: [8*n, n]
reference: reference.cu
templates:
`

// doublingBodies maps templates to the bodies of their kernels, which are executed for each index i < N.
var doublingBodies = map[string]string{
	"right":    `y[i] = 2.0f * x[i];`,
	"branchy":  `__shared__ float s[64]; s[threadIdx.x] = x[i]; __syncthreads(); y[i] = 2.0f * s[threadIdx.x];`,
	"deep":     `volatile float room[16 << 10]; room[i * 7 % 16384] = x[i]; __syncthreads(); y[i] = 2.0f * room[i * 7 % 16384];`, // a stack of 64 KiB
	"wrong":    `y[i] = i == 70 ? 7.0f : 2.0f * x[i];`,
	"lazy":     `if (i != 3) y[i] = 2.0f * x[i];`,
	"scribble": `y[i] = 2.0f * x[i]; if (i == 5) const_cast<float*>(x)[9] = 1.0f;`,
	"beyond":   `y[i] = 2.0f * x[i]; if (i == 5) y[N + 2] = 1.0f;`,
	"wild":     `y[i] = 2.0f * x[i + (i == 66 ? 1ll << 40 : 0)];`,
	"endless":  `y[i] = 2.0f * x[i]; while (*(volatile float*)y != 17.0f) {}`,
	"deadlock": `y[i] = 2.0f * x[i]; if (threadIdx.x < 32) __syncthreads(); else __shfl_sync(0xffffffffu, i, threadIdx.x == 40 ? __syncthreads(), 0 : 0);`,
	"divide":   `y[i] = 2.0f * x[i] + (float)(i / (int)(threadIdx.x / 64));`,
	"trap":     `y[i] = 2.0f * x[i]; if (i == 65) __trap();`,
	"assert":   `y[i] = 2.0f * x[i]; assert(i != 65);`,
	"read":     `y[i] = 2.0f * (i == 67 ? x[N + 1] : x[i]);`,
	"byte":     `y[i] = 2.0f * x[i]; if (i == 67) y[i] += 0.0f * reinterpret_cast<const volatile char*>(x + N)[1];`,
	"lone":     `y[i] = 2.0f * x[i]; if (threadIdx.x != 32) __syncthreads(); else __shfl_sync(3u, i, 0);`,
	"ldg":      "y[i] = 2.0f * (i == 67 ?\n__ldg(x + N + 1) :\n x[i]);",
	"misalign": `float4 v = *reinterpret_cast<const float4*>(x + 1); y[i] = 2.0f * x[i] + 0.0f * v.x;`,
	"shared":   `__shared__ float s[64]; float* p = s; p[threadIdx.x + (i == 64)] = x[i]; y[i] = 2.0f * x[i]; if (i == 127) y[i] += 0.0f * p[64];`,
	"dynamic":  `extern __shared__ float s[]; s[threadIdx.x] = x[i]; y[i] = 2.0f * s[threadIdx.x];`,
	"mixed":    `if (threadIdx.x == 0) __syncwarp(); else __shfl_sync(0xffffffffu, i, 0); y[i] = 2.0f * x[i];`,
	"left":     `if (threadIdx.x > 1) return; if (threadIdx.x == 0) __syncwarp(); else __shfl_sync(0xffffffffu, i, 0); y[i] = 2.0f * x[i];`,
	"outside":  `__shfl_sync(1u, i, 0); y[i] = 2.0f * x[i];`,
}

// doublingKernel returns a kernel source for the operator y = 2 x + bias; the statements in body are executed for each
// index i < N.
func doublingKernel(name, body string) string {
	return "#ifndef N\n#define N 100\n#endif\nextern \"C\" __global__ void doubling_" + name +
		"(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ y) {\n" +
		"long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= N || bias) return;\n" + body + "\n}\n"
}

func doublingOperator(t *testing.T) *operator.Operator {
	t.Helper()
	kernels := map[string]string{}
	for name, body := range doublingBodies {
		kernels[name] = doublingKernel(name, body)
	}
	return doublingOf(t, doublingKernel("reference", doublingBodies["right"]), kernels)
}

func doublingOf(t *testing.T, reference string, kernels map[string]string) *operator.Operator {
	t.Helper()
	files := fstest.MapFS{}
	yaml := doubling
	for name, source := range kernels {
		files["doubling/"+name+".cu"] = &fstest.MapFile{Data: []byte(source)}
		yaml += "  - name: " + name + "\n    source: " + name + ".cu\n    tunables: {block_x: [64]}\n" +
			"    launch: {block: [block_x, 1, 1], grid: [\"ceil_div(n, block_x)\", 1, 1], shared: 0}\n    default: {block_x: 64}\n"
	}
	files["doubling/reference.cu"] = &fstest.MapFile{Data: []byte(reference)}
	files["doubling/op.yaml"] = &fstest.MapFile{Data: []byte(yaml)}
	op, err := operator.Load(files, "doubling")
	must.OK(t, err)
	return op
}

// bench is a session on a problem, with the problem's templates compiled on demand.
type bench struct {
	problem *operator.Problem
	device  device.Device
	session device.Session
}

func openBench(t *testing.T, o Options, p *operator.Problem, proto device.Protocol) *bench {
	t.Helper()
	needCompiler(t)
	d, err := Open(o)
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, d.Close()) })
	b := &bench{problem: p, device: d}
	must.OK(t, b.open(t, proto))
	return b
}

func (b *bench) open(t *testing.T, proto device.Protocol) error {
	t.Helper()
	kernel, err := b.problem.Reference()
	must.OK(t, err)
	b.session, err = b.device.Open(t.Context(), b.problem, b.compile(t, kernel), proto)
	return err
}

func (b *bench) compile(t *testing.T, k operator.Kernel) *compile.Binary {
	t.Helper()
	binary, err := b.device.Compiler().Compile(t.Context(), compile.Request{Kernel: k, Arch: b.device.Arch()})
	must.OK(t, err)
	return binary
}

func (b *bench) variant(t *testing.T, template string) device.Variant {
	t.Helper()
	for _, c := range b.problem.Defaults(t.Context()) {
		if c.Template == template {
			kernel, err := b.problem.Kernel(c)
			must.OK(t, err)
			return device.Variant{Configuration: c, Kernel: kernel, Binary: b.compile(t, kernel)}
		}
	}
	t.Fatalf("no template %s", template)
	return device.Variant{}
}

func (b *bench) evaluate(t *testing.T, template string) trial.Outcome {
	t.Helper()
	o, err := b.session.Evaluate(t.Context(), b.variant(t, template), 0)
	must.OK(t, err)
	return o
}

// ends checks how a template's evaluation ends; message is a regular expression.
func (b *bench) ends(t *testing.T, template string, status trial.Status, message string) {
	t.Helper()
	e := b.evaluate(t, template)
	if e.Status != status || !regexp.MustCompile(message).MatchString(e.Message) {
		t.Errorf("%s, %q; want %s, %s", e.Status, e.Message, status, message)
	}
	if e.Status == trial.OK && len(e.SamplesMS) == 0 {
		t.Error("no samples")
	}
}

func (b *bench) check(t *testing.T, template string, c device.Check) trial.Outcome {
	t.Helper()
	o, _, err := b.session.Check(t.Context(), b.variant(t, template), c)
	must.OK(t, err)
	return o
}

func (b *bench) races(t *testing.T, template string) (trial.Outcome, string) {
	t.Helper()
	o, looked, err := b.session.(device.RaceFinder).Races(t.Context(), b.variant(t, template))
	must.OK(t, err)
	return o, looked
}

// loaded loads an operator from files and returns a problem of it with n elements.
func loaded(t *testing.T, files fstest.MapFS, n int64) *operator.Problem {
	t.Helper()
	o, err := operator.Load(files, ".")
	must.OK(t, err)
	return bindDoubling(t, o, n)
}

func doublingProblem(t *testing.T) *operator.Problem {
	t.Helper()
	return bindDoubling(t, doublingOperator(t), 130)
}

func bindDoubling(t *testing.T, o *operator.Operator, n int64) *operator.Problem {
	t.Helper()
	p, err := o.Bind(operator.Request{Shape: []int64{n}}, Limits())
	must.OK(t, err)
	return p
}

func TestEvaluate(t *testing.T) {
	proto := device.DefaultProtocol()
	proto.LaunchTimeout = 500 * time.Millisecond
	p := doublingProblem(t)
	benches := map[bool]*bench{}
	for _, sanitize := range []bool{false, true} {
		benches[sanitize] = openBench(t, Options{Sanitize: sanitize, CacheDir: testCache}, p, proto)
	}
	for _, c := range []struct {
		sanitize bool
		template string
		status   trial.Status
		message  string // a regular expression
	}{
		{false, "right", trial.OK, `^$`},
		{false, "branchy", trial.OK, `^$`},
		{false, "deep", trial.OK, `^$`},
		{false, "wrong", trial.WrongResult, `^y differs from the reference in 1 of 130 elements, first at \[70\]: 7 instead of [\d.]+$`},
		{false, "lazy", trial.WrongResult, `first at \[3\]: NaN instead of`},
		{false, "scribble", trial.WrongResult, `^wrote to x, which is an input$`},
		{false, "beyond", trial.WrongResult, `^wrote 3 elements past the end of y$`},
		{false, "wild", trial.Crashed, `^illegal address, (at 0x[0-9a-f]+, )?far from every tensor, block \(1,0,0\), thread \(2,0,0\)$`},
		{false, "endless", trial.Timeout, `^the launch ran longer than 500 ms$`},
		{false, "deadlock", trial.Timeout, `^deadlock: block \([01],0,0\): 33 of 64 threads wait at __syncthreads, 31 of 64 threads wait at __shfl_sync, each that others never reach$`},
		{false, "lone", trial.Timeout, `63 of 64 threads wait at __syncthreads, 1 of 64 threads waits at __shfl_sync, each that others never reach`},
		{false, "divide", trial.Crashed, `^integer division by zero, block \(\d,0,0\), thread \(0,0,0\)$`},
		{false, "trap", trial.Crashed, `^the kernel trapped, block \(1,0,0\), thread \(1,0,0\)$`},
		{false, "assert", trial.Crashed, `assert.cu:7: assertion failed: i != 65, block \(1,0,0\), thread \(1,0,0\)$`},
		{false, "mixed", trial.Crashed, `is at __shfl_sync with mask 0xffffffff while thread \(0,0,0\) of its warp is at __syncwarp|thread \(0,0,0\) is at __syncwarp`},
		{false, "left", trial.Crashed, `thread \(0,0,0\) is at __syncwarp with mask 0xffffffff while thread \(1,0,0\) of its warp is at __shfl_sync`},
		{false, "outside", trial.Crashed, `is at __shfl_sync but not in its mask 0x00000001$`},
		{true, "right", trial.OK, `^$`},
		{true, "branchy", trial.OK, `^$`},
		{true, "deadlock", trial.Timeout, `^deadlock`},
		{true, "read", trial.Crashed, `read.cu:7: out-of-bounds read of 4 bytes, 4 bytes past the end of x, block \(1,0,0\), thread \(3,0,0\)$`},
		{true, "byte", trial.Crashed, `byte.cu:7: out-of-bounds read of 1 byte, 1 byte past the end of x, block`},
		{true, "ldg", trial.Crashed, `ldg.cu:8: out-of-bounds read of 4 bytes, 4 bytes past the end of x, block \(1,0,0\), thread \(3,0,0\)$`},
		{true, "beyond", trial.Crashed, `beyond.cu:7: out-of-bounds write of 4 bytes, 8 bytes past the end of y, block \(0,0,0\), thread \(5,0,0\)$`},
		{true, "misalign", trial.Crashed, `misalign.cu:7: .*misaligned address.*float4.*16 byte alignment, at byte 4 of x, block \(0,0,0\), thread \(0,0,0\)$`},
		{true, "shared", trial.Crashed, `shared.cu:7: out-of-bounds (read|write) of 4 bytes.*past the end of shared array s`},
		{true, "dynamic", trial.Crashed, `dynamic.cu:7: out-of-bounds write of 4 bytes`},
		{true, "divide", trial.Crashed, `divide.cu:7: division by zero, block`},
	} {
		name := c.template
		if c.sanitize {
			name += " sanitized"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			benches[c.sanitize].ends(t, c.template, c.status, c.message)
		})
	}
}

func TestDistributionsAndSeeds(t *testing.T) {
	p := doublingProblem(t)
	for _, distribution := range []string{"uniform01", "normal", "negative", "special"} {
		proto := device.DefaultProtocol()
		proto.Distribution, proto.Seed = distribution, 9
		b := openBench(t, Options{CacheDir: testCache}, p, proto)
		if e := b.evaluate(t, "right"); e.Status != trial.OK || e.MaxAbsError != 0 {
			t.Errorf("%s: %s %s", distribution, e.Status, e.Message)
		}
		if b.session.Ceilings().ReferenceMS <= 0 {
			t.Error("the reference has no time")
		}
	}
	d, err := Open(Options{CacheDir: testCache})
	must.OK(t, err)
	defer d.Close()
	kernel, _ := p.Reference()
	reference, err := d.Compiler().Compile(t.Context(), compile.Request{Kernel: kernel, Arch: d.Arch()})
	must.OK(t, err)
	proto := device.DefaultProtocol()
	proto.Distribution = "cauchy"
	if _, err := d.Open(t.Context(), p, reference, proto); err == nil || !strings.Contains(err.Error(), "unknown input distribution \"cauchy\"") {
		t.Errorf("unknown distribution: %v", err)
	}
}

// An interrupted search leaves no process and no file behind.
func TestCancel(t *testing.T) {
	p := doublingProblem(t)
	b := openBench(t, Options{CacheDir: testCache}, p, device.DefaultProtocol())
	variant := b.variant(t, "endless")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := b.session.Evaluate(ctx, variant, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled evaluation: %v", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	dir := b.device.(*emulated).host.scratch.Dir
	must.OK(t, b.device.Close())
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestLaunchErrors(t *testing.T) {
	for _, c := range []struct {
		launch operator.Launch
		want   string
	}{
		{operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{1025, 1, 1}}, "block.x is 1025"},
		{operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{64, 32, 1}}, "2048 threads"},
		{operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 65}}, "block.z is 65"},
		{operator.Launch{Grid: [3]int64{1, 65536, 1}, Block: [3]int64{1, 1, 1}}, "grid.y is 65536"},
		{operator.Launch{Grid: [3]int64{0, 1, 1}, Block: [3]int64{1, 1, 1}}, "grid.x is 0"},
		{operator.Launch{Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1}, SharedBytes: 232449}, "232449 bytes"},
		{operator.Launch{Grid: [3]int64{6, 1, 1}, Block: [3]int64{1, 1, 1}, Cluster: [3]int64{4, 1, 1}}, "cluster.x is 4; it must divide grid.x, which is 6"},
		{operator.Launch{Grid: [3]int64{16, 4, 1}, Block: [3]int64{1, 1, 1}, Cluster: [3]int64{8, 2, 1}}, "a cluster has 16 blocks; at most 8"},
		{operator.Launch{Grid: [3]int64{1057, 1, 1}, Block: [3]int64{256, 1, 1}, Cooperative: true}, "a cooperative launch of 1057 blocks: at most 1056 run at once, 8 on each of 132 multiprocessors"},
		{operator.Launch{Grid: [3]int64{265, 1, 1}, Block: [3]int64{33, 1, 1}, SharedBytes: 100000, Cooperative: true}, "at most 264 run at once, 2 on"},
		{operator.Launch{Grid: [3]int64{132, 1, 1}, Block: [3]int64{33, 1, 1}, SharedBytes: 100000, Cooperative: true}, ""},
		{operator.Launch{Grid: [3]int64{1 << 30, 65535, 65535}, Block: [3]int64{32, 32, 1}, SharedBytes: 232448}, ""},
	} {
		got := refused(operator.Launches{c.launch}, Limits())
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.launch, got, c.want)
		}
	}
	fine := operator.Launch{Entry: "first", Grid: [3]int64{132, 1, 1}, Block: [3]int64{1024, 1, 1}, Cooperative: true}
	large, poor := fine, Limits()
	large.Entry, large.SharedBytes, poor.MemoryBytes = "second", 300000, 1<<30
	if got := refused(operator.Launches{fine, large}, Limits()); !strings.HasPrefix(got, "second: a block asks for 300000 bytes") {
		t.Error(got)
	}
	if got := refused(operator.Launches{fine}, poor); !strings.HasSuffix(got, "the emulator needs 1584 MiB for their stacks and has 512") {
		t.Error(got)
	}
}
