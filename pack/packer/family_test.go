package packer

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"autotune/internal/testneeds"
	"autotune/internal/torchvectors"
	"autotune/pack"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/family"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// cubins is a compiler like echo, whose binaries have a place for sizes.
type cubins struct{ echo }

func (cubins) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	b, err := echo{}.Compile(ctx, r)
	if n := len(r.Kernel.Sizes); n > 0 && err == nil {
		b.Code = elfOf(make([]byte, 4*n), operator.SizesSymbol, string(b.Code))
	}
	return b, err
}

// elfOf is an ELF file: its head, which has in e_flags how long the contents are, the contents of a
// variable, a text, and what says where the variable is.
func elfOf(contents []byte, symbol, text string) []byte {
	const head, section, entry = 64, 64, 24
	names := "\x00.symtab\x00.strtab\x00.nv.constant3\x00" + symbol + "\x00"
	at := func(name string) uint32 { return uint32(strings.Index(names, "\x00"+name+"\x00") + 1) }
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
	behind := head + len(contents) + len(text) + 1
	table := behind + 2*entry + len(names)
	put([]byte("\x7fELF\x02\x01\x01\x33"), make([]byte, 8), uint16(2), uint16(190), uint32(118), uint64(0), uint64(0), uint64(table))
	put(uint32(len(contents)), uint16(head), uint16(0), uint16(0), uint16(section), uint16(4), uint16(2))
	put(contents, []byte(text+"\x00"))
	put(make([]byte, entry), at(symbol), uint8(0x11), uint8(0), uint16(3), uint64(0), uint64(len(contents)))
	put([]byte(names), make([]byte, section))
	part := func(name string, kind uint32, offset, size int, link, info uint32, each uint64) {
		put(at(name), kind, uint64(0), uint64(0), uint64(offset), uint64(size), link, info, uint64(1), each)
	}
	part(".symtab", 2, behind, 2*entry, 2, 1, entry)
	part(".strtab", 3, behind+2*entry, len(names), 0, 0, 0)
	part(".nv.constant3", 1, head, len(contents), 0, 0, 0)
	return b.Bytes()
}

// fakeFamily is a family that nobody measured: configurations of templates that take dimensions when
// they run, each found at another shape, and a tree that was drawn.
func fakeFamily(t testing.TB, name, shapes, free, parameters string) Family {
	t.Helper()
	op, err := operator.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	extents, err := family.ParseShapes(shapes)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, uint64(len(shapes))))
	f := &family.Family{
		Schema: family.Schema, Operator: name, Shapes: shapes, Dimensions: op.Shape, Fixed: map[string]int64{}, Free: strings.Split(free, ","),
		Device: device.Info{Name: "NVIDIA H100", Kind: device.CUDA, Limits: hopper()}, Target: "sm_90a", By: family.ByTree,
		Tree: drawnTree(random, strings.Split(free, ","), 2),
	}
	for _, word := range strings.Fields(parameters) {
		key, value, _ := strings.Cut(word, "=")
		f.Parameters = append(f.Parameters, operator.Parameter{Name: key, Value: value})
	}
	for range 200 {
		if len(f.Entries) == 6 {
			break
		}
		shape := shapeIn(random, extents)
		p, err := op.Bind(f.Request(shape), hopper())
		if err != nil {
			continue
		}
		defaults := p.Defaults(context.Background())
		if len(defaults) == 0 {
			continue
		}
		c := defaults[random.IntN(len(defaults))]
		if !p.Admits(c) || slices.ContainsFunc(f.Entries, func(e family.Entry) bool { return e.Template == c.Template }) && random.IntN(8) > 0 {
			continue
		}
		k, err := p.Kernel(c)
		if err != nil {
			t.Fatal(err)
		}
		f.Math, f.Parameters, f.MathBy = p.Math, p.Parameters, "PyTorch"
		f.Entries = append(f.Entries, family.Entry{Configuration: c, Shape: shape, Digest: k.Digest()})
	}
	if len(f.Entries) < 2 {
		t.Fatalf("%s has %d entries", name, len(f.Entries))
	}
	f.Tree.Walk(func(leaf *family.Node, _ string) {
		leaf.Entries = slices.DeleteFunc(random.Perm(len(f.Entries)), func(int) bool { return random.IntN(3) == 0 })
	})
	sampled(t, f, op)
	one, err := FamilyOf(f, op)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// sampled gives a family one sample, at which each entry takes twice as long as the own best.
func sampled(t testing.TB, f *family.Family, op *operator.Operator) {
	t.Helper()
	p, err := op.Bind(f.Request(f.Entries[0].Shape), hopper())
	if err != nil {
		t.Fatal(err)
	}
	if f.Reference, err = p.ReferenceDigest(); err != nil {
		t.Fatal(err)
	}
	s := family.Sample{Shape: p.Shape, OwnBest: trial.Timing{Median: 1}, General: &trial.Timing{Median: 2}, Configuration: space.Configuration{Template: "general"}, Chosen: -1}
	for range f.Entries {
		s.Times = append(s.Times, &trial.Timing{Median: 2})
	}
	f.Samples, f.HeldOut = []family.Sample{s}, []family.Sample{}
}

func drawnTree(random *rand.Rand, names []string, depth int) *family.Node {
	if depth == 0 {
		return &family.Node{}
	}
	name := names[random.IntN(len(names))]
	condition := fmt.Sprintf("%s <= %d", name, 1+random.IntN(40))
	if other := names[random.IntN(len(names))]; other != name {
		condition = fmt.Sprintf("%s*%s <= %d", name, other, 1+random.IntN(1600))
	}
	return &family.Node{If: condition, Then: drawnTree(random, names, depth-1), Else: drawnTree(random, names, depth-1)}
}

func shapeIn(random *rand.Rand, extents family.Shapes) (shape []int64) {
	for _, e := range extents {
		v := e.At(random.Float64())
		if random.IntN(2) == 0 {
			v = e.Round(v)
		}
		shape = append(shape, v)
	}
	return shape
}

// fakeFamilies are of operators whose kernels need several launches, workspaces, clusters.
func fakeFamilies(t testing.TB) []Family {
	return []Family{
		fakeFamily(t, "max_pool2d", "{1..8,32}x3x{6..80}x{6..80}", "n,h,w", "kernel=3"),
		fakeFamily(t, "conv2d", "{1..8}x16x{6..64}x{6..64}", "n,h,w", "c_out=32 padding=1"),
		fakeFamily(t, "matmul", "{1..4}x{1..300}x64x{8..300}", "batch,m,n", "type=bf16"),
	}
}

// packedFamilies writes families to a folder.
func packedFamilies(t testing.TB, all []Family) string {
	t.Helper()
	p, err := Make(context.Background(), cubins{}, nil, all, Options{Name: "layers", Tool: "autotune test"})
	path := filepath.Join(t.TempDir(), "layers")
	if err == nil {
		err = p.Write(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Notices) > 0 {
		t.Error(p.Notices)
	}
	return path
}

// chosenCase is a problem, and what must be launched for it.
type chosenCase struct {
	problem *operator.Problem
	entry   int    // -1: the general kernel
	text    string // of the entry: what is loaded and launched, and the bytes of workspaces
}

// cases are problems in a family's range and beside it, with what the family itself says of them.
func (f Family) cases(t testing.TB, random *rand.Rand, count int) (all []chosenCase) {
	t.Helper()
	extents, err := family.ParseShapes(f.Shapes)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for len(all) < count {
		shape := shapeIn(random, extents)
		if random.IntN(8) == 0 {
			shape[random.IntN(len(shape))] += 100
		}
		p, err := f.Operator.Bind(f.Request(shape), hopper())
		if err != nil || seen[p.String()] {
			continue
		}
		seen[p.String()] = true
		c := chosenCase{problem: p, entry: -1}
		if extents.Have(shape) {
			c.entry = f.taken(t, p)
		}
		if c.entry >= 0 {
			c.text = loaded(t, p, f.Kernels[c.entry], f.Entries[c.entry].Configuration)
		}
		all = append(all, c)
	}
	return all
}

// taken is the first entry of the problem's leaf that serves it.
func (f Family) taken(t testing.TB, p *operator.Problem) int {
	leaf, err := f.Tree.Leaf(p.Values)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range leaf.Entries {
		if _, ok := f.Kernels[e].Formulas.At(p.Values); ok && p.Admits(f.Entries[e].Configuration) {
			return e
		}
	}
	return -1
}

// loaded is what a loader asks the driver for, where the kernel is that of the problem itself.
func loaded(t testing.TB, p *operator.Problem, packed family.Kernel, c space.Configuration) string {
	t.Helper()
	k, err := p.Kernel(c)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []byte
	for _, s := range k.Sizes {
		n, _ := s.Value.AsInt()
		sizes = binary.LittleEndian.AppendUint32(sizes, uint32(n))
	}
	var b strings.Builder
	asked := map[string]bool{}
	for _, l := range k.Launches {
		if line := fmt.Sprintf("load %x of %.40s: %s\n", sizes, packed.Digest(), l.Entry); !asked[line] {
			asked[line] = true
			b.WriteString(line)
		}
	}
	for _, l := range k.Launches {
		g, o := l.Grid, l.Block
		fmt.Fprintf(&b, "launch %d %d %d, %d %d %d, %d\n", g[0], g[1], g[2], o[0], o[1], o[2], l.SharedBytes)
	}
	room := int64(0)
	for _, a := range p.Arguments {
		if a.Role == operator.Workspace && k.Launches.Name(a.Name) {
			room += (a.Bytes() + 255) / 256 * 256
		}
	}
	fmt.Fprintf(&b, "workspaces %d\n", room)
	return b.String()
}

// familyGPU is a GPU that runs nothing and says what it is asked for.
type familyGPU struct {
	*recorder
	asked []string
}

func (g *familyGPU) Load(image []byte, entry string, _ int64) (pack.Kernel, error) {
	if !bytes.HasPrefix(image, []byte("\x7fELF")) {
		return 1, nil // a general kernel
	}
	n := binary.LittleEndian.Uint32(image[48:])
	g.asked = append(g.asked, fmt.Sprintf("load %x of %.40s: %s\n", image[64:64+n], image[64+n:], entry))
	return 1, nil
}

func (g *familyGPU) Launch(_ pack.Kernel, l pack.Launch, _ pack.Stream, _ []unsafe.Pointer) error {
	g.asked = append(g.asked, fmt.Sprintf("launch %d %d %d, %d %d %d, %d\n", l.Grid[0], l.Grid[1], l.Grid[2], l.Block[0], l.Block[1], l.Block[2], l.SharedBytes))
	return nil
}

// roomOf are the bytes of a plan's workspaces, each from an address of its own.
func roomOf(plan *pack.Plan) (room int64) {
	for _, tensor := range plan.Tensors {
		if tensor.Role == "workspace" {
			room += (tensor.Bytes + 255) / 256 * 256
		}
	}
	return room
}

// What the loaders choose and launch is what the family says, for shapes in its range. Elsewhere the
// general kernel runs.
func TestFamilies(t *testing.T) {
	all := fakeFamilies(t)
	// One more has the same problems and comes first, but was measured elsewhere.
	elsewhere, document := all[0], *all[0].Family
	document.Device.Name, document.Tree, elsewhere.Family = "A GPU", &family.Node{}, &document
	path := packedFamilies(t, append(slices.Clone(all), elsewhere))
	if first := open(t, path).Families[2]; first.Device != "A GPU" {
		t.Fatalf("the third family is %s of %s", first.Problem, first.Device)
	}
	random := rand.New(rand.NewPCG(3, 4))
	var cases []chosenCase
	for _, f := range all {
		served, more := map[int]int{}, f.cases(t, random, 150)
		for _, c := range more {
			served[c.entry]++
		}
		if t.Logf("%s: %v", f, served); len(served) < 3 {
			t.Errorf("%s: %v: too few entries are chosen to prove anything", f, served)
		}
		cases = append(cases, more...)
	}
	t.Run("Go", func(t *testing.T) { sameChoices(t, cases, chosenByGo(t, path, cases)) })
	t.Run("C", func(t *testing.T) { sameChoices(t, cases, chosenByC(t, path, cases)) })
	t.Run("Python", func(t *testing.T) { sameChoices(t, cases, chosenByPython(t, path, cases)) })
}

// All kernels that take dimensions when they run can be packed, and have a form in C.
func TestEveryOpenKernel(t *testing.T) {
	packed := map[string]bool{}
	for _, name := range operator.OperatorNames() {
		op, err := operator.Find(name)
		must(t, err)
		p := empty("layers", "")
		must(t, p.describe(op))
		w, err := newCOperator(p.Operators[0], p.Types)
		must(t, err)
		for _, r := range requests(t, name) {
			for _, template := range op.Templates {
				if len(template.Free) > 0 && !packed[name+" "+template.Name] {
					r.Free, r.Only.Templates = template.Free, []string{template.Name}
					packed[name+" "+template.Name] = inC(t, p, w, op, r)
				}
			}
		}
	}
	served := len(slices.DeleteFunc(slices.Collect(maps.Keys(packed)), func(name string) bool { return !packed[name] }))
	if t.Logf("%d of %d", served, len(packed)); served < 24 {
		t.Errorf("%d of %d kernels are tried: %v", served, len(packed), packed)
	}
}

// requests are problems that PyTorch was asked about, and the same with more of everything and of
// other types, for tensor cores.
func requests(t *testing.T, name string) (all []operator.Request) {
	vectors, err := torchvectors.Of(name)
	must(t, err)
	for _, c := range vectors.Cases {
		all = append(all, operator.Request{Shape: c.Shape, Parameters: c.Parameters, Math: c.Math})
	}
	for _, r := range all {
		for _, word := range []string{"f32", "bf16"} {
			more := operator.Request{Parameters: map[string]string{}}
			maps.Copy(more.Parameters, r.Parameters)
			for _, extent := range r.Shape {
				more.Shape = append(more.Shape, 16*extent)
			}
			if _, convolution := r.Parameters["c_out"]; convolution {
				more.Parameters["c_out"], more.Parameters["groups"] = "128", "1"
			}
			more.Parameters["type"] = word
			all = append(all, more)
		}
	}
	return all
}

// inC writes the default of a request's template for C; false: it serves no such problem.
func inC(t *testing.T, p *Packed, w *cOperator, op *operator.Operator, r operator.Request) bool {
	q, err := op.Bind(r, hopper())
	if err != nil {
		return false
	}
	defaults := q.Defaults(t.Context())
	if len(defaults) == 0 {
		return false
	}
	k := family.Kernel{Problem: q}
	k.Kernel, err = q.Kernel(defaults[0])
	must(t, err)
	k.Formulas, err = q.Formulas(defaults[0])
	must(t, err)
	v, err := p.variant(k, "sm_90a")
	must(t, err)
	if err := written(w, v); err != nil {
		t.Errorf("%s of %s: %v", defaults[0], q, err)
	}
	return true
}

func written(w *cOperator, v *pack.Variant) (err error) {
	defer notInC(&err)
	w.variant(&strings.Builder{}, v, "0")
	return nil
}

// sameChoices holds what a loader did for each problem against what it should do.
func sameChoices(t *testing.T, cases []chosenCase, got []string) {
	t.Helper()
	if len(got) != len(cases) {
		t.Fatalf("there are %d answers for %d problems", len(got), len(cases))
	}
	wrong := 0
	for i, c := range cases {
		if got[i] != c.text {
			if wrong++; wrong < 4 {
				t.Errorf("%s: the loader says\n%swant, of entry %d,\n%s", c.problem, got[i], c.entry, c.text)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d problems", wrong, len(cases))
	}
}

func chosenByGo(t *testing.T, path string, cases []chosenCase) (all []string) {
	p := open(t, path)
	for _, c := range cases {
		gpu := &familyGPU{recorder: h100()} // which has loaded nothing yet
		plan, err := p.On(gpu).Plan(c.problem.Operator.Name, c.problem.Shape, given(c.problem.Parameters), "")
		if err == nil {
			err = plan.Prepare()
		}
		if err == nil {
			err = relaunch(plan)
		}
		if err != nil {
			t.Fatalf("%s: %v", c.problem, err)
		}
		if plan.Variant == nil {
			all = append(all, "")
			continue
		}
		all = append(all, strings.Join(gpu.asked, "")+fmt.Sprintf("workspaces %d\n", roomOf(plan)))
	}
	return all
}

// answers are what a program printed, by problems. It prints the bytes of workspaces behind each, and
// whether the kernel was made for it.
func answers(out string) (all []string) {
	var b strings.Builder
	asked := map[string]bool{} // of the problem: who launches a kernel twice may ask for it twice
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "load ") && !asked[line]:
			asked[line] = true
			b.WriteString(line)
		case strings.HasPrefix(line, "launch "):
			head, _, _ := strings.Cut(line, " on ")
			b.WriteString(head + "\n")
		case strings.HasPrefix(line, "workspaces ") && len(words) == 3:
			text := b.String() + strings.Join(words[:2], " ") + "\n"
			if words[2] == "general" {
				text = ""
			}
			all = append(all, text)
			b.Reset()
			clear(asked)
		}
	}
	return all
}

func chosenByPython(t *testing.T, path string, cases []chosenCase) []string {
	testneeds.CXX.Need(t)
	testneeds.Python.Need(t)
	type problem struct {
		Operator string       `json:"operator"`
		Settings []expr.Value `json:"settings"`
		Shapes   [][]int64    `json:"shapes"` // of the tensors that are read
		Type     string       `json:"type"`
	}
	var list []problem
	for _, c := range cases {
		one := problem{Operator: c.problem.Operator.Name, Type: string(c.problem.Output().Type)}
		for _, s := range c.problem.Operator.Parameters {
			for _, name := range s.Names {
				if s.Type != operator.WordParameter {
					one.Settings = append(one.Settings, c.problem.Values[name])
				}
			}
		}
		for _, a := range c.problem.Arguments {
			switch {
			case !a.Role.Filled():
			case a.Elements == 0:
				one.Shapes = append(one.Shapes, nil)
			default:
				one.Shapes = append(one.Shapes, a.Shape)
			}
		}
		list = append(list, one)
	}
	text, err := json.Marshal(list)
	must(t, err)
	return answers(withDriver(t, text, "python3", "testdata/plan_all.py", "../../reports/pytorch/testdata", path))
}

func chosenByC(t *testing.T, path string, cases []chosenCase) []string {
	testneeds.CXX.Need(t)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not there")
	}
	p := open(t, path)
	var in strings.Builder
	for _, c := range cases {
		operation := slices.IndexFunc(p.Operators, func(o *pack.Operator) bool { return o.Name == c.problem.Operator.Name })
		names := slices.Concat(c.problem.Operator.Shape, components(p.Operators[operation]))
		fmt.Fprintf(&in, "%d %d", operation, len(names))
		for _, name := range names {
			n, isInt := c.problem.Values[name].AsInt()
			if !isInt {
				n = wordPlace(p.Operators[operation], name, c.problem.Values[name].String())
			}
			fmt.Fprintf(&in, " %d", n)
		}
		in.WriteString("\n")
	}
	dir, c := t.TempDir(), filepath.Join(path, "c")
	library, program := filepath.Join(dir, "libcuda.so.1"), filepath.Join(dir, "program")
	cc(t, "-shared", "-fPIC", "-o", library, "testdata/libcuda.c")
	cc(t, "-fsanitize=undefined", "-I"+c, "-o", program, "testdata/plan_all.c", filepath.Join(c, "autotune_pack.c"), filepath.Join(c, "layers.c"), library, "-ldl")
	return answers(withDriver(t, []byte(in.String()), program, path))
}

func components(o *pack.Operator) (names []string) {
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			names = append(names, c.Name)
		}
	}
	return names
}

// wordPlace is where a word stands among those of a parameter.
func wordPlace(o *pack.Operator, name, word string) int64 {
	i := slices.IndexFunc(o.Parameters, func(s pack.Parameter) bool { return s.Components[0].Name == name })
	return int64(slices.Index(o.Parameters[i].Words, word))
}

// withDriver runs a program with the stand-in for the driver, and gives what it prints.
func withDriver(t *testing.T, in []byte, program string, arguments ...string) string {
	t.Helper()
	dir := t.TempDir()
	cc(t, "-shared", "-fPIC", "-o", filepath.Join(dir, "libcuda.so.1"), "testdata/libcuda.c")
	cmd := exec.Command(program, arguments...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	var failures bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &failures
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failures.String())
	}
	return string(out)
}
