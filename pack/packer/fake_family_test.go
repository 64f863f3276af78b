package packer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner/family"
)

// cubins is an imitation of a compiler, whose binaries contain a variable for the sizes that a kernel reads.
type cubins struct{ echo }

func (cubins) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	b, err := echo{}.Compile(ctx, r)
	if n := len(r.Kernel.Sizes); n > 0 && err == nil {
		b.Code = elfOf(make([]byte, 4*n), operator.SizesSymbol, string(b.Code))
	}
	return b, err
}

// elfOf makes an ELF file with one variable, a text, and the symbol table that says where the variable is. The header
// field e_flags holds the length of the variable's contents.
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

// fakeFamily makes a family without measurements, from configurations that read dimensions at run time, each assigned
// to another shape, and a random tree.
func fakeFamily(t testing.TB, name, shapes, free, parameters string) Family {
	t.Helper()
	op, err := operator.Find(name)
	must.OK(t, err)
	return fakeFamilyOf(t, op, shapes, free, parameters)
}

// fakeFamilyOf is like fakeFamily, but takes an operator that need not be built in.
func fakeFamilyOf(t testing.TB, op *operator.Operator, shapes, free, parameters string) Family {
	t.Helper()
	extents, err := family.ParseShapes(shapes)
	must.OK(t, err)
	random := rand.New(rand.NewPCG(1, uint64(len(shapes))))
	f := &family.Family{
		Schema: family.Schema, Operator: op.Name, Shapes: shapes, Dimensions: op.Shape, Free: strings.Split(free, ","),
		Device: device.Info{Name: "NVIDIA H100", Kind: device.CUDA, Limits: hopper()}, Target: "sm_90a",
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
		must.OK(t, err)
		f.Math, f.Parameters, f.MathBy = p.Math, p.Parameters, "PyTorch"
		f.Entries = append(f.Entries, family.Entry{Configuration: c, Shape: shape, Digest: k.Digest()})
	}
	if len(f.Entries) < 2 {
		t.Fatalf("%s has %d entries", op.Name, len(f.Entries))
	}
	drawEntries(random, f.Tree, len(f.Entries))
	sampled(t, f, op)
	one, err := FamilyOf(f, op)
	must.OK(t, err)
	return one
}

// sampled gives a family one measured shape, for which each entry takes twice as long as the shape's own best kernel.
func sampled(t testing.TB, f *family.Family, op *operator.Operator) {
	t.Helper()
	p, err := op.Bind(f.Request(f.Entries[0].Shape), hopper())
	must.OK(t, err)
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

// drawEntries gives each leaf of a family's tree a random choice of the family's entries.
func drawEntries(random *rand.Rand, n *family.Node, entries int) {
	if n.If == "" {
		n.Entries = slices.DeleteFunc(random.Perm(entries), func(int) bool { return random.IntN(3) == 0 })
		return
	}
	drawEntries(random, n.Then, entries)
	drawEntries(random, n.Else, entries)
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

// fakeFamilies makes families whose kernels need several launches, workspaces and clusters.
func fakeFamilies(t testing.TB) []Family {
	return []Family{
		fakeFamily(t, "max_pool2d", "{1..8,32}x3x{6..80}x{6..80}", "n,h,w", "kernel=3"),
		fakeFamily(t, "conv2d", "{1..8}x16x{6..64}x{6..64}", "n,h,w", "c_out=32 padding=1"),
		fakeFamily(t, "matmul", "{1..4}x{1..300}x64x{8..300}", "batch,m,n", "type=bf16"),
		fakeFamily(t, "softmax", "{1..4000}x40000x1", "outer", ""),
	}
}

// packedFamilies packs families into a temporary folder.
func packedFamilies(t testing.TB, all []Family) string {
	t.Helper()
	p, err := Make(context.Background(), cubins{}, nil, all, Options{Name: "layers", Tool: "autotune test"})
	path := filepath.Join(t.TempDir(), "layers")
	if err == nil {
		err = p.Write(path)
	}
	must.OK(t, err)
	if len(p.Notices) > 0 {
		t.Error(p.Notices)
	}
	return path
}
