package packer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
	"autotune/pack"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
)

// hopper returns the limits of the GPU that the winners of these tests are made for.
func hopper() operator.Limits {
	limits := operator.TypicalLimits()
	limits.Arch, limits.Target = 90, "sm_90a"
	return limits
}

// echo is a compiler whose binaries contain the digest of their source instead of code.
type echo struct{}

func (echo) Version() string { return "echo 1" }
func (echo) Workers() int    { return 2 }
func (echo) Close() error    { return nil }
func (echo) Compile(_ context.Context, r compile.Request) (*compile.Binary, error) {
	return &compile.Binary{Code: []byte(r.Kernel.Digest() + " for " + r.Arch), Symbols: map[string]string{}}, nil
}

// winner makes the default configuration of a template the winner of a problem: of the named template, or of the first
// template that serves the problem.
func winner(t testing.TB, r operator.Request, name string, template ...string) cudasource.Winner {
	t.Helper()
	op, err := operator.Find(name)
	must.OK(t, err)
	return winnerOf(t, op, r, template...)
}

// winnerOf is like the function winner, but takes an operator that need not be built in.
func winnerOf(t testing.TB, op *operator.Operator, r operator.Request, template ...string) cudasource.Winner {
	t.Helper()
	p, err := op.Bind(r, hopper())
	must.OK(t, err)
	defaults := p.Defaults(context.Background())
	c := defaults[max(0, slices.IndexFunc(defaults, func(c space.Configuration) bool { return slices.Contains(template, c.Template) }))]
	k, err := p.Kernel(c)
	must.OK(t, err)
	best := bestconfig.Document{
		Operator: op.Name, Configuration: c, Launches: k.Launches, Macros: map[string]string{}, Problem: p.Record(), Target: "sm_90a",
		Device: device.Info{Name: "NVIDIA H100", Kind: device.CUDA}, KernelDigest: k.Digest(),
		Time: trial.Timing{Median: 1.5, CI95: [2]float64{1.4, 1.6}, Samples: 20}, RecordedAt: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	for _, m := range k.Macros {
		best.Macros[m.Name] = m.Value
	}
	w, err := cudasource.Of(best, op, hopper(), "autotune test")
	must.OK(t, err)
	return w
}

// packable returns the built-in operators that packs can contain with a general kernel.
func packable(t testing.TB) (all []*operator.Operator) {
	t.Helper()
	for _, name := range operator.OperatorNames() {
		op, err := operator.Find(name)
		must.OK(t, err)
		p, err := op.Bind(operator.Request{Shape: op.Example}, hopper())
		must.OK(t, err)
		if _, why := generalType(p); why == "" && empty("layers", "").describe(op) == nil {
			all = append(all, op)
		}
	}
	return all
}

// examples returns a winner for each operator that can be packed, and one winner in bf16.
func examples(t testing.TB) []cudasource.Winner {
	t.Helper()
	made.Do(func() {
		for _, op := range packable(t) {
			all = append(all, winner(t, operator.Request{Shape: op.Example}, op.Name))
		}
		all = append(all, winner(t, operator.Request{Shape: []int64{2, 64, 32, 128}, Parameters: map[string]string{"type": "bf16", "bias": "true"}}, "matmul"))
	})
	return slices.Clone(all)
}

// all caches the winners that examples makes.
var (
	made sync.Once
	all  []cudasource.Winner
)

// packed packs winners into a temporary folder.
func packed(t testing.TB, name string, all []cudasource.Winner) string {
	t.Helper()
	p, err := Make(context.Background(), echo{}, all, nil, Options{Name: "layers", Tool: "autotune test"})
	path := filepath.Join(t.TempDir(), name)
	if err == nil {
		err = p.Write(path)
	}
	must.OK(t, err)
	return path
}

// recorder is a GPU that runs nothing and records the calls of a loader.
type recorder struct {
	gpu      pack.GPU
	mutex    sync.Mutex
	images   []string
	launches []string
	values   [][]uint64 // the first 8 bytes of each argument
}

func (r *recorder) GPU() pack.GPU { return r.gpu }

func (r *recorder) Load(image []byte, entry string, shared int64) (pack.Kernel, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.images = append(r.images, fmt.Sprintf("%s %s %d", strings.TrimRight(string(image), "\x00"), entry, shared))
	return pack.Kernel(len(r.images)), nil
}

func (r *recorder) Launch(k pack.Kernel, l pack.Launch, s pack.Stream, arguments []unsafe.Pointer) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var values []uint64
	for _, a := range arguments {
		values = append(values, *(*uint64)(a))
	}
	r.launches = append(r.launches, fmt.Sprintf("%d %s %v %v %d on %d", k, l.Entry, l.Grid, l.Block, l.SharedBytes, s))
	r.values = append(r.values, values)
	return nil
}

func h100() *recorder {
	return &recorder{gpu: pack.GPU{Name: "NVIDIA H100", Arch: 90, SharedBytes: 227 << 10}}
}

func open(t testing.TB, path string) *pack.Pack {
	t.Helper()
	p, err := pack.Open(path)
	must.OK(t, err)
	return p
}

func given(parameters operator.Parameters) map[string]string {
	all := map[string]string{}
	for _, p := range parameters {
		all[p.Name] = p.Value
	}
	return all
}

// A loader must choose each entry for its own problem, with the entry's launches, whatever it planned before.
func TestEntriesAreChosen(t *testing.T) {
	testneeds.Nothing(t)
	all := examples(t)
	loader := open(t, packed(t, "layers", all)).On(h100())
	for _, w := range all {
		plan, err := loader.Plan(w.Problem.Operator.Name, w.Problem.Shape, given(w.Problem.Parameters), w.Problem.Math)
		must.OK(t, err)
		if plan.Entry == nil || plan.Entry.Problem != w.Problem.String() {
			t.Fatalf("%s: the plan's entry is %+v", w.Problem, plan.Entry)
		}
		sameTensors(t, w.Problem, plan, w.Kernel.Launches)
	}
}

// sameTensors compares a plan's tensors with the problem's.
func sameTensors(t *testing.T, p *operator.Problem, plan *pack.Plan, launches operator.Launches) {
	t.Helper()
	want := ""
	for _, role := range []bool{false, true} { // workspaces come last
		for _, a := range p.Arguments {
			if (a.Role == operator.Workspace) == role && (a.Owner == "" || launches.Name(a.Name)) {
				want += fmt.Sprintf("%s %d\n", a.Name, a.Bytes())
			}
		}
	}
	got := ""
	for _, tensor := range plan.Tensors {
		got += fmt.Sprintf("%s %d\n", tensor.Name, tensor.Bytes)
	}
	if sortedLines(got) != sortedLines(want) {
		t.Fatalf("%s: the plan takes\n%swant\n%s", p, got, want)
	}
}

func sortedLines(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// The sizes passed to the general kernel must be those that the operator itself computes, for all problems whose
// expected results came from PyTorch.
func TestGeneralKernelsKnowTheSizes(t *testing.T) {
	path := packed(t, "layers", examples(t))
	sizes := map[string][]string{}
	for _, g := range open(t, path).General {
		sizes[g.Operator] = g.Sizes
	}
	var cases []chosenCase
	for _, op := range packable(t) {
		vectors, err := torchvectors.Of(op.Name)
		if err != nil {
			continue // the operator is compared with NumPy instead of PyTorch
		}
		for _, c := range vectors.Cases {
			p, err := op.Bind(operator.Request{Shape: c.Shape, Parameters: c.Parameters}, hopper())
			must.OK(t, err)
			only := map[string]string{"elementwise": "relu(x)", "matmul": "x"}[op.Name]
			expressions := p.Values["f"].String() + p.Values["epilogue"].String()
			if p.Arguments[0].Type == operator.F32 && (only == "" || expressions == only) {
				cases = append(cases, chosenCase{problem: p})
			}
		}
	}
	at := 0
	var got []string
	for line := range strings.Lines(printedByPython(t, path, cases)) {
		words := strings.Fields(line)
		switch {
		case words[0] == "sizes":
			got = words[1:]
		case words[0] == "workspaces" && words[2] == "general":
			p := cases[at].problem
			var want []string
			for _, name := range sizes[p.Operator.Name] {
				n, _ := p.Values[name].AsInt()
				if p.Values[name].Kind() == expr.KindFloat {
					n = bitsOfReal(p.Values[name])
				}
				want = append(want, fmt.Sprint(n))
			}
			if want = append(want, fmt.Sprint(p.Output().Elements)); !slices.Equal(got, want) {
				t.Errorf("%s: the sizes are %s, want %s", p, got, want)
			}
			fallthrough
		case words[0] == "workspaces":
			at++
		}
	}
	if at != len(cases) || at < 200 {
		t.Errorf("there are %d answers for %d problems", at, len(cases))
	}
}

// relaunch launches a plan with made-up pointers.
func relaunch(plan *pack.Plan) error {
	pointers := make([]pack.Pointer, len(plan.Tensors))
	for i := range pointers {
		pointers[i] = pack.Pointer(256 * (i + 1))
	}
	return plan.Launch(1, pointers...)
}

// A launch must pass pointers in the kernel's order, with null pointers for tensors without elements.
func TestLaunch(t *testing.T) {
	w := winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}, Parameters: map[string]string{"c_out": "8"}}, "conv2d", "pipelined_gemm")
	if len(w.Kernel.Launches) < 2 || len(w.Kernel.Workspaces) < 2 {
		t.Fatalf("it has %d launches and %d workspaces; the test wants several", len(w.Kernel.Launches), len(w.Kernel.Workspaces))
	}
	p := open(t, packed(t, "one", []cudasource.Winner{w}))
	gpu := h100()
	loader := p.On(gpu)
	tuned, err := loader.Plan("conv2d", w.Problem.Shape, given(w.Problem.Parameters), "")
	must.OK(t, err)
	if err := tuned.Prepare(); err != nil || len(gpu.images) == 0 || len(gpu.launches) > 0 {
		t.Fatalf("Prepare: %v; it loaded %q and launched %q", err, gpu.images, gpu.launches)
	}
	loaded := len(gpu.images)
	if err := relaunch(tuned); err != nil || len(gpu.images) != loaded || len(gpu.launches) != len(w.Kernel.Launches) {
		t.Fatalf("Launch: %v; it loaded %q and launched %q", err, gpu.images, gpu.launches)
	}
	for i, l := range w.Kernel.Launches {
		for j, at := range operator.Passed(w.Problem.Arguments, l) {
			a := w.Problem.Arguments[at]
			want := uint64(0)
			for k, tensor := range tuned.Tensors {
				if tensor.Name == a.Name && tensor.Bytes > 0 {
					want = uint64(256 * (k + 1))
				}
			}
			if gpu.values[i][j] != want {
				t.Errorf("launch %d passes %d for %s, want %d", i, gpu.values[i][j], a.Name, want)
			}
		}
	}

	for what, pointers := range map[string][]pack.Pointer{
		"it takes 7 pointers":           {256},
		"the pointer of weight is null": {256, 0, 256, 256, 256, 256, 256},
		"x is not aligned to 16 bytes":  {8, 256, 256, 256, 256, 256, 256},
	} {
		if err := tuned.Launch(0, pointers...); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: %v, want %q", pointers, err, what)
		}
	}
}

// If a pack has no kernel for a requested problem, the error of Plan must say why. Some entries of a pack may run on
// other GPUs than the one that the search used.
func TestPlans(t *testing.T) {
	w := winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "conv2d")
	p := open(t, packed(t, "one", []cudasource.Winner{w}))
	for name, test := range map[string]struct {
		gpu  pack.GPU
		ask  func(*pack.Loader) (*pack.Plan, error)
		want string
	}{
		"the GPU of the search": {h100().gpu, asks("stride", "1"), "tuned"},
		"another of its kind":   {pack.GPU{Name: "NVIDIA H200", Arch: 90, SharedBytes: 227 << 10}, asks("stride", "1"), "tuned"},
		"a newer one": {pack.GPU{Name: "NVIDIA B200", Arch: 100, SharedBytes: 227 << 10}, asks("stride", "1"),
			"conv2d: no kernel of the pack was made for this problem in math mode tf32 on NVIDIA B200 (sm_100)"},
		"another shape": {h100().gpu, func(l *pack.Loader) (*pack.Plan, error) { return l.Plan("conv2d", []int64{2, 4, 9, 9}, nil, "") },
			"conv2d: no kernel of the pack was made for this problem in math mode tf32 on NVIDIA H100 (sm_90)"},
		"another operator": {h100().gpu, func(l *pack.Loader) (*pack.Plan, error) { return l.Plan("matmul", nil, nil, "") },
			`the pack has no operator "matmul"; it has conv2d`},
		"another mode": {h100().gpu, func(l *pack.Loader) (*pack.Plan, error) { return l.Plan("conv2d", []int64{1, 4, 9, 9}, nil, "tf16") },
			"conv2d: no kernel of the pack was made for this problem in math mode tf16 on NVIDIA H100 (sm_90)"},
		"a shape of three": {h100().gpu, func(l *pack.Loader) (*pack.Plan, error) { return l.Plan("conv2d", []int64{1, 2, 3}, nil, "") },
			"conv2d: the shape has the dimensions n, c, h, w; got [1 2 3]"},
		"a parameter": {h100().gpu, asks("size", "3"), "conv2d: there is no parameter `size`"},
		"no number":   {h100().gpu, asks("stride", "a"), "conv2d: `stride`: strconv.ParseInt: parsing \"a\": invalid syntax"},
	} {
		_, err := test.ask(p.On(&recorder{gpu: test.gpu}))
		got := "tuned"
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func asks(parameter, value string) func(*pack.Loader) (*pack.Plan, error) {
	return func(l *pack.Loader) (*pack.Plan, error) {
		return l.Plan("conv2d", []int64{1, 4, 9, 9}, map[string]string{parameter: value}, "")
	}
}

// The same winners must produce the same pack, byte for byte, in whatever order they come.
func TestReproducible(t *testing.T) {
	all := examples(t)[:6]
	first := must.Read(t, filepath.Join(packed(t, "layers", all), pack.ManifestFile))
	for i := range len(all) / 2 {
		all[i], all[len(all)-1-i] = all[len(all)-1-i], all[i]
	}
	second := must.Read(t, filepath.Join(packed(t, "layers", all), pack.ManifestFile))
	if string(first) != string(second) {
		t.Error("two packs of the same winners differ")
	}
}

// Writing a pack must not overwrite a path that holds something other than a pack.
func TestNothingIsLost(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		must.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.OK(t, os.WriteFile(path, []byte("mine"), 0o644))
		return path
	}
	p, err := Make(t.Context(), echo{}, examples(t)[:1], nil, Options{Name: "layers"})
	must.OK(t, err)
	again := filepath.Join(dir, "again")
	for range 2 {
		must.OK(t, Check(again))
		must.OK(t, p.Write(again))
	}
	open(t, again)
	for path, want := range map[string]string{
		write("plain"):                       "it is a file, and a pack is a folder",
		filepath.Dir(write("full/mine")):     "it is a folder of other files, not a pack",
		filepath.Join(dir, "no/such/folder"): "no such file or directory",
	} {
		if err := Check(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// An operator that a pack cannot contain must be left out, while the other operators are packed.
func TestLeftOut(t *testing.T) {
	norm := winner(t, operator.Request{Shape: []int64{4, 64, 1}}, "layer_norm")
	problem, op := *norm.Problem, *norm.Problem.Operator
	op.Parameters = slices.Clone(op.Parameters)
	op.Parameters[0].Choices = []expr.Value{expr.Float(0.5)}
	problem.Operator, norm.Problem = &op, &problem
	p, err := Make(t.Context(), echo{}, []cudasource.Winner{norm, winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "max_pool2d"), norm}, nil, Options{Name: "layers"})
	want := "layer_norm is left out: `" + op.Parameters[0].Name + "` may be 0.5; where a pack's parameter has choices, they are integers"
	if err != nil || len(p.Entries) != 1 || !slices.Equal(p.Notices, []string{want}) {
		t.Fatalf("%v; %v", err, p.Notices)
	}
	if _, err := Make(t.Context(), echo{}, []cudasource.Winner{norm}, nil, Options{Name: "layers"}); err == nil || err.Error() != "there is nothing to pack; "+want {
		t.Error(err)
	}
}
