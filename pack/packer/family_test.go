package packer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"autotune/internal/lists"
	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/internal/test/torchvectors"
	"autotune/operator"
	"autotune/pack"
	"autotune/space"
	"autotune/space/expr"
	"autotune/tuner/family"
)

// chosenCase is a problem, and the launches that a loader must make for it.
type chosenCase struct {
	problem *operator.Problem
	entry   int    // the entry's index, or -1 for the general kernel
	text    string // the driver calls, and the bytes of workspaces
}

// cases returns problems inside and outside a family's range, with the launches that the family itself chooses.
func (f Family) cases(t testing.TB, random *rand.Rand, count int) (all []chosenCase) {
	t.Helper()
	extents, err := family.ParseShapes(f.Shapes)
	must.OK(t, err)
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
		if within(shape, extents) {
			c.entry = f.taken(t, p)
		}
		if c.entry >= 0 {
			c.text = loaded(t, p, f.Kernels[c.entry], f.Entries[c.entry].Configuration)
		}
		all = append(all, c)
	}
	return all
}

func within(shape []int64, extents family.Shapes) bool {
	for i, e := range extents {
		if !e.Has(shape[i]) {
			return false
		}
	}
	return true
}

// taken returns the first entry in the problem's leaf that serves the problem, or -1.
func (f Family) taken(t testing.TB, p *operator.Problem) int {
	leaf, err := f.Tree.Leaf(p.Values)
	must.OK(t, err)
	for _, e := range leaf.Entries {
		if _, ok := f.Kernels[e].Formulas.At(p.Values); ok && p.Admits(f.Entries[e].Configuration) {
			return e
		}
	}
	return -1
}

// loaded returns the driver calls that a loader must make if the kernel was compiled for the problem itself.
func loaded(t testing.TB, p *operator.Problem, packed family.Kernel, c space.Configuration) string {
	t.Helper()
	k, err := p.Kernel(c)
	must.OK(t, err)
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
	return b.String() + launched(p, k)
}

// launched returns the launches that follow the loading of a kernel, and the size of its workspaces.
func launched(p *operator.Problem, k operator.Kernel) string {
	var b strings.Builder
	for _, l := range k.Launches {
		g, o := l.Grid, l.Block
		b.WriteString(attributesOf(l.Cooperative, l.Cluster, l.Dependent))
		fmt.Fprintf(&b, "launch %d %d %d, %d %d %d, %d\n", g[0], g[1], g[2], o[0], o[1], o[2], l.SharedBytes)
	}
	room := int64(0)
	for i, a := range p.Arguments {
		taken := slices.ContainsFunc(k.Launches, func(l operator.Launch) bool { return slices.Contains(operator.Passed(p.Arguments, l), i) })
		if a.Role == operator.Workspace && taken {
			room += (a.Bytes() + 255) / 256 * 256
		}
	}
	fmt.Fprintf(&b, "workspaces %d\n", room)
	return b.String()
}

// familyGPU is a GPU that runs nothing and records the calls of a loader.
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
	g.asked = append(g.asked, attributesOf(l.Cooperative, l.Cluster, l.Dependent)+fmt.Sprintf("launch %d %d %d, %d %d %d, %d\n", l.Grid[0], l.Grid[1], l.Grid[2], l.Block[0], l.Block[1], l.Block[2], l.SharedBytes))
	return nil
}

// attributesOf returns the attributes of a launch as the imitation of the CUDA driver prints them.
func attributesOf(cooperative bool, cluster [3]int64, dependent bool) (text string) {
	if cooperative {
		text += "attribute 2 1\n"
	}
	if cluster[0] > 0 {
		text += fmt.Sprintf("attribute 4 %d\n", cluster[0])
	}
	if dependent {
		text += "attribute 6 1\n"
	}
	return text
}

// roomOf returns how many bytes a plan's workspaces take if each begins at an address that is a multiple of 256.
func roomOf(plan *pack.Plan) (room int64) {
	for _, tensor := range plan.Tensors {
		if tensor.Role == "workspace" {
			room += (tensor.Bytes + 255) / 256 * 256
		}
	}
	return room
}

// For a shape in a family's range, Python must choose and launch the kernel that the family itself chooses; for every
// shape outside the range, Python must launch the general kernel.
func TestFamilies(t *testing.T) {
	all := fakeFamilies(t)
	// Add a second family for the same problems, which comes first in the pack but was measured on another GPU.
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
	sameChoices(t, cases, answers(printedByPython(t, path, cases)))
}

// Every kernel that reads dimensions at run time must be packable, with all its formulas in Python.
func TestEveryOpenKernel(t *testing.T) {
	testneeds.Nothing(t)
	if testing.Short() {
		t.Skip("compiles for long, in one goroutine")
	}
	packed := map[string]bool{}
	for _, op := range packable(t) {
		name := op.Name
		p := empty("layers", "")
		if p.describe(op) != nil {
			continue // none of the operator's kernels can be packed
		}
		for _, r := range requests(op) {
			for _, template := range op.Templates {
				if len(template.Free) > 0 && !packed[name+" "+template.Name] {
					r.Free = template.Free
					packed[name+" "+template.Name] = inPython(t, p, op, r, template.Name)
				}
			}
		}
	}
	served := len(slices.DeleteFunc(slices.Collect(maps.Keys(packed)), func(name string) bool { return !packed[name] }))
	if t.Logf("%d of %d", served, len(packed)); served < 24 {
		t.Errorf("%d of %d kernels are tried: %v", served, len(packed), packed)
	}
}

// requests returns problems with known results of PyTorch, and larger problems in f32 and bf16 for tensor cores.
func requests(o *operator.Operator) (all []operator.Request) {
	if vectors, err := torchvectors.Of(o.Name); err == nil { // some operators are compared with NumPy only
		for _, c := range vectors.Cases {
			all = append(all, operator.Request{Shape: c.Shape, Parameters: c.Parameters, Math: c.Math})
		}
	}
	all = append(all, operator.Request{Shape: o.Example})
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

// inPython writes the formulas of a template's default in Python. inPython returns false if the template cannot serve
// the request.
func inPython(t *testing.T, p *Packed, op *operator.Operator, r operator.Request, template string) bool {
	q, err := op.Bind(r, hopper())
	if err != nil {
		return false
	}
	part, err := q.Part(operator.Restriction{Templates: []string{template}})
	must.OK(t, err)
	defaults := part.Defaults(t.Context())
	if len(defaults) == 0 {
		return false
	}
	k := family.Kernel{Problem: q}
	k.Kernel, err = q.Kernel(defaults[0])
	must.OK(t, err)
	k.Formulas, err = q.Formulas(defaults[0])
	must.OK(t, err)
	v, err := p.variant(k, "sm_90a")
	must.OK(t, err)
	f := &pack.Family{Tuned: pack.Tuned{Target: "sm_90a", Values: map[string]expr.Value{}}, Variants: []*pack.Variant{v}, Tree: &pack.Node{}}
	p.parameters(q, f.Values)
	written := &Packed{Manifest: pack.Manifest{Operators: p.Operators, Families: []*pack.Family{f}}, files: map[string][]byte{}}
	if written.addFormulas(""); len(written.Notices) > 0 {
		t.Errorf("%s of %s: %q", defaults[0], q, written.Notices)
	}
	return true
}

// sameChoices compares the driver calls that a loader made for each problem with those that it should make.
func sameChoices(t *testing.T, cases []chosenCase, got []string) {
	t.Helper()
	if len(got) != len(cases) {
		t.Fatalf("there are %d answers for %d problems", len(got), len(cases))
	}
	wrong := 0
	loaded := map[string]bool{} // a process may plan all problems and load no kernel twice
	for i, c := range cases {
		asked := func(line string) bool { return loaded[line] && strings.HasPrefix(line, "load ") }
		rest := slices.DeleteFunc(strings.SplitAfter(c.text, "\n"), asked)
		for line := range strings.SplitAfterSeq(c.text, "\n") {
			loaded[line] = true
		}
		if got[i] != c.text && got[i] != strings.Join(rest, "") {
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
		gpu := &familyGPU{recorder: h100()} // a new GPU has no kernels loaded
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
		all = append(all, strings.Join(gpu.asked, "")+fmt.Sprintf("workspaces %d\n", roomOf(plan)))
	}
	return all
}

// answers splits the output of a test program into the parts that belong to one problem each. After the driver calls of
// each problem, the output says how large the workspaces are and whether the kernel was tuned for the problem.
func answers(out string) (all []string) {
	var b strings.Builder
	asked := map[string]bool{} // a loader may load a kernel twice for one problem
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "load ") && !asked[line]:
			asked[line] = true
			b.WriteString(line)
		case slices.Contains([]string{"launch", "wait", "copy", "record"}, words[0]):
			head, _, _ := strings.Cut(line, " on ")
			head, _, _ = strings.Cut(head, " to ")
			b.WriteString(head + "\n")
		case strings.HasPrefix(line, "attribute "):
			b.WriteString(line)
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

func printedByPython(t *testing.T, path string, cases []chosenCase) string {
	testneeds.CXX.Need(t)
	testneeds.Torch.Need(t)
	type problem struct {
		Operator string       `json:"operator"`
		Settings []expr.Value `json:"settings"`
		Shapes   [][]int64    `json:"shapes"` // shapes of the tensors that are read
		Type     string       `json:"type"`
	}
	var list []problem
	operators := open(t, path).Operators
	for _, c := range cases {
		described, _ := lists.First(operators, func(o *pack.Operator) bool { return o.Name == c.problem.Operator.Name })
		one := problem{Operator: c.problem.Operator.Name, Settings: []expr.Value{}, Type: string(c.problem.Arguments[teller(c.problem.Operator)].Type)}
		for _, s := range c.problem.Operator.Parameters {
			if s.Type == operator.ExpressionParameter {
				at := slices.IndexFunc(described.Parameters, func(d pack.Parameter) bool { return d.Name == s.Name })
				one.Settings = append(one.Settings, expr.Int(int64(slices.Index(described.Parameters[at].Words, c.problem.Values[s.Name].String()))))
				continue
			}
			word := slices.IndexFunc(s.Choices, func(v expr.Value) bool { return v.Equal(c.problem.Values[s.Name]) })
			for _, name := range s.Names {
				switch v := c.problem.Values[name]; {
				case s.Name == c.problem.Operator.TypeParameter() || slices.Contains(c.problem.Operator.Orders(), s.Name): // the tensors determine this parameter
				case s.Type == operator.WordParameter:
					one.Settings = append(one.Settings, expr.Int(int64(word)))
				case s.Type == operator.FloatParameter:
					one.Settings = append(one.Settings, expr.Int(bitsOfReal(v)))
				default:
					one.Settings = append(one.Settings, v)
				}
			}
		}
		for _, d := range described.Tensors {
			switch a, _ := lists.First(c.problem.Arguments, func(a operator.Argument) bool { return a.Name == d.Name }); {
			case !operator.Role(d.Role).Filled():
			case a.Elements == 0:
				one.Shapes = append(one.Shapes, nil)
			default:
				one.Shapes = append(one.Shapes, a.Shape)
			}
		}
		list = append(list, one)
	}
	text, err := json.Marshal(list)
	must.OK(t, err)
	return withDriver(t, text, "python3", "testdata/plan_all.py", path)
}

func printedByC(t *testing.T, path string, cases []chosenCase) string {
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
			switch {
			case c.problem.Values[name].Kind() == expr.KindFloat:
				n = bitsOfReal(c.problem.Values[name])
			case !isInt:
				n = wordPlace(p.Operators[operation], name, c.problem.Values[name].String())
			}
			fmt.Fprintf(&in, " %d", n)
		}
		in.WriteString("\n")
	}
	c := filepath.Join(path, "c")
	if out, err := exec.Command("g++", "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", "-x", "c++", filepath.Join(c, "autotune_pack.c"), filepath.Join(c, "layers.c")).CombinedOutput(); err != nil {
		t.Fatalf("as C++: %v\n%s", err, out)
	}
	_, program := programInC(t, path, "plan_all.c", "-fsanitize=undefined")
	return withDriver(t, []byte(in.String()), program, path)
}

// teller returns the index of the input that determines the problem's type.
func teller(o *operator.Operator) int {
	read := func(a operator.ArgumentSpec) bool { return a.Role.Filled() }
	if i := slices.IndexFunc(o.Arguments, func(a operator.ArgumentSpec) bool { return read(a) && a.TypeBy != "" }); i >= 0 {
		return i
	}
	return slices.IndexFunc(o.Arguments, read)
}

func bitsOfReal(v expr.Value) int64 {
	x, _ := v.AsFloat()
	return int64(math.Float64bits(x))
}

func components(o *pack.Operator) (names []string) {
	for _, s := range o.Parameters {
		for _, c := range s.Components {
			names = append(names, c.Name)
		}
	}
	return names
}

// wordPlace returns the index of a word among the words of a parameter.
func wordPlace(o *pack.Operator, name, word string) int64 {
	i := slices.IndexFunc(o.Parameters, func(s pack.Parameter) bool { return s.Components[0].Name == name })
	return int64(slices.Index(o.Parameters[i].Words, word))
}

// withDriver runs a program with the imitation of the CUDA driver, and returns the output of the program.
func withDriver(t *testing.T, in []byte, program string, arguments ...string) string {
	t.Helper()
	cmd := underDriver(standIn(t), program, arguments...)
	var failures bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &failures
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failures.String())
	}
	return string(out)
}
