package operator

import (
	"reflect"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/space"
	"autotune/space/expr"
)

// The expected words of each tensor map were read from an H200, where the instruction tensormap.replace wrote the same
// map.
func TestWordsAreTheDriversOwn(t *testing.T) {
	number := func(of []int64, i int) Formula {
		n := int64(1)
		if i >= 0 && i < len(of) {
			n = of[i]
		}
		return constant(expr.Int(n).Source())
	}
	extents, strides := []int64{0x1111, 0x2222, 0x3333, 0x4444, 0x5555}, []int64{8, 16, 32, 64}
	ones := []int64{64, 1, 1, 1, 1}
	with := func(of []int64, at int, n int64) []int64 {
		of = append([]int64(nil), of...)
		of[at] = n
		return of
	}
	base := [7]uint64{0x1000060c0, 0x400000002, 8, 0x222100001110, 0x444300003332, 0x3f00000000005554, 0}
	word := func(at int, value uint64) [7]uint64 {
		words := base
		words[at] = value
		return words
	}
	steps := func(sixth, seventh uint64) [7]uint64 {
		words := base
		words[5], words[6] = sixth, seventh
		return words
	}
	for _, test := range []struct {
		name                         string
		extents, strides, box, steps []int64
		kind, swizzle                string
		want                         [7]uint64
	}{
		{"base", extents, strides, ones, nil, "f16", "128", base},
		{"extent 0", with(extents, 0, 0x7edcba98), strides, ones, nil, "f16", "128", word(3, 0x22217edcba97)},
		{"extent 1", with(extents, 1, 0x7edcba98), strides, ones, nil, "f16", "128", word(3, 0x7edcba9700001110)},
		{"extent 2", with(extents, 2, 0x7edcba98), strides, ones, nil, "f16", "128", word(4, 0x44437edcba97)},
		{"extent 3", with(extents, 3, 0x7edcba98), strides, ones, nil, "f16", "128", word(4, 0x7edcba9700003332)},
		{"extent 4", with(extents, 4, 0x7edcba98), strides, ones, nil, "f16", "128", word(5, 0x3f0000007edcba97)},
		{"stride 1", extents, with(strides, 0, 8*0x3fffffff), ones, nil, "f16", "128", word(0, 0x3fffffff000060c0)},
		{"stride 2", extents, with(strides, 1, 8*0x3fffffff), ones, nil, "f16", "128", word(1, 0x43fffffff)},
		{"stride 3", extents, with(strides, 2, 8*0x3fffffff), ones, nil, "f16", "128", word(1, 0x3fffffff00000002)},
		{"stride 4", extents, with(strides, 3, 8*0x3fffffff), ones, nil, "f16", "128", word(2, 0x3fffffff)},
		{"box 0", extents, strides, with(ones, 0, 256), nil, "f16", "128", word(5, 0xff00000000005554)},
		{"box 1", extents, strides, with(ones, 1, 256), nil, "f16", "128", word(6, 0xff)},
		{"box 2", extents, strides, with(ones, 2, 256), nil, "f16", "128", word(6, 0xff00)},
		{"box 3", extents, strides, with(ones, 3, 256), nil, "f16", "128", word(6, 0xff0000)},
		{"box 4", extents, strides, with(ones, 4, 256), nil, "f16", "128", word(6, 0xff000000)},
		{"step 0", extents, strides, with(ones, 0, 16), []int64{8, 1, 1, 1, 1}, "f16", "128", steps(0x7f00000700005554, 0)},
		{"step 1", extents, strides, with(ones, 1, 16), []int64{1, 8, 1, 1, 1}, "f16", "128", steps(0x3f00003800005554, 0x7f)},
		{"step 2", extents, strides, with(ones, 2, 16), []int64{1, 1, 8, 1, 1}, "f16", "128", steps(0x3f0001c000005554, 0x7f00)},
		{"step 3", extents, strides, with(ones, 3, 16), []int64{1, 1, 1, 8, 1}, "f16", "128", steps(0x3f000e0000005554, 0x7f0000)},
		{"step 4", extents, strides, with(ones, 4, 16), []int64{1, 1, 1, 1, 8}, "f16", "128", steps(0x3f00700000005554, 0x7f000000)},
		{"three axes", extents[:3], strides[:2], ones[:3], nil, "f16", "128", [7]uint64{0x1000060a0, 2, 0, 0x222100001110, 0x3332, 0x3f00000000000000}},
		{"rounded", extents[:3], []int64{4, 16}, []int64{32, 1, 1}, nil, "tf32", "128", [7]uint64{0x1000163a0, 4, 0, 0x222100001110, 0x3332, 0x1f00000000000000}},
		{"exact", extents[:3], []int64{4, 16}, []int64{32, 1, 1}, nil, "f32", "128", [7]uint64{0x1000063a0, 4, 0, 0x222100001110, 0x3332, 0x1f00000000000000}},
		{"plain", extents[:3], []int64{4, 16}, []int64{32, 1, 1}, nil, "f32", "0", [7]uint64{0x1000003a0, 4, 0, 0x222100001110, 0x3332, 0x1f00000000000000}},
		{"two axes", extents[:2], []int64{4}, []int64{32, 1}, nil, "tf32", "128", [7]uint64{0x100016390, 0, 0, 0x222100001110, 0, 0x1f00000000000000}},
		{
			"four axes", []int64{0x1111, 0x2222, 0x33, 0x44}, []int64{4, 8, 12}, []int64{32, 1, 1, 1}, nil, "tf32", "128",
			[7]uint64{0x1000163b0, 0x300000002, 0, 0x222100001110, 0x4300000032, 0x1f00000000000000},
		},
	} {
		s := TensorMapSpec{Type: constant("'" + test.kind + "'"), Swizzle: constant(test.swizzle)}
		for i := range test.extents {
			axis := MapAxis{number(test.extents, i), number(test.strides, i-1), number(test.box, i), number(test.steps, i)}
			s.Axes = append(s.Axes, axis)
		}
		var got [7]uint64
		for i, f := range s.asWords() {
			v, err := f.code.Eval(nil)
			n, ok := v.AsInt()
			if err != nil || !ok {
				t.Fatalf("%s: word %d, %s: %v, %v", test.name, i+1, f.Text, v, err)
			}
			got[i] = uint64(n)
		}
		if got != test.want {
			t.Errorf("%s: got  %x\nwant %x", test.name, got, test.want)
		}
	}
}

// mappedOperator passes x as one of two tensor maps, and a workspace as another.
const mappedOperator = `operator: mapped
summary: Copies by tensor maps.
shape: [n, w]
example: 64x64
tensors:
  - {name: x, role: input, shape: [n, w]}
  - {name: y, role: output, shape: [n, w]}
cost: [8*n*w]
reference: mapped.cu
templates:
  - name: direct
    source: mapped.cu
    free: [n]
    tunables: {rows: [16, 512], wide: [0, 1]}
    workspaces:
      - {name: copy, shape: [n, w]}
    tensor_maps:
      - {name: boxes, of: x, when: wide, type: f32, swizzle: 128, axes: [[w, 1, 32], [n, w, rows]]}
      - {name: boxes, of: x, type: tf32, swizzle: 0, axes: [[w, 1, 4], [1, w, 1], [n, w, rows, 2]]}
      - {name: copied, of: copy, type: f32, swizzle: 0, axes: [[w, 1, 8], [n, w, 8]]}
    launch:
      - {entry: fill, block: [32, 1, 1], grid: [1, 1, 1], arguments: [boxes, copy]}
      - {entry: move, block: [32, 1, 1], grid: [1, 1, 1], arguments: [copied, y, boxes]}
    default: {rows: 16, wide: 0}
  - name: again
    include: direct
    tunables: {rows: [16], wide: [0, 1]}
    default: {rows: 16, wide: 1}
`

func loadMapped(yaml string) (*Operator, error) {
	files := operatorFiles(yaml)
	files["mapped.cu"] = files["reference.cu"]
	files["mapped.cu"].Data = []byte("void mapped_reference() {} __global__ void fill(const __grid_constant__ TensorMap x, float* y) {} " +
		"__global__ void move(const __grid_constant__ TensorMap x, float* y, const __grid_constant__ TensorMap z) {}")
	return Load(files, ".")
}

// A launch contains, for each tensor that it passes as a tensor map, the words of the first map whose condition holds.
// A template that includes another has the tensor maps of the included template.
func TestTensorMaps(t *testing.T) {
	o, err := loadMapped(mappedOperator)
	must.OK(t, err)
	p := bound(t, o, Request{Shape: []int64{128, 64}})
	k := func(template string, wide int64) Kernel {
		return kernelAt(t, p, space.Configuration{Template: template, Values: space.Values{{Name: "rows", Value: expr.Int(16)}, {Name: "wide", Value: expr.Int(wide)}}})
	}
	wide := TensorMap{0, [7]int64{1<<4 | 7<<7 | 3<<13 | 16<<32, 0, 0, 63 | 127<<32, 0, 31 << 56, 15}}
	narrow := TensorMap{0, [7]int64{2<<4 | 7<<7 | 1<<16 | 16<<32, 16, 0, 63, 127, 1<<38 | 3<<56, 31 << 8}}
	copied := TensorMap{0, [7]int64{1<<4 | 7<<7 | 16<<32, 0, 0, 63 | 127<<32, 0, 7 << 56, 7}}
	for _, template := range []string{"direct", "again"} {
		for i, boxes := range []TensorMap{narrow, wide} {
			got := k(template, int64(i)).Launches
			behind := boxes
			behind.At = 2
			if a, b := got[0], got[1]; !reflect.DeepEqual(a.Maps, []TensorMap{boxes}) || !reflect.DeepEqual(b.Maps, []TensorMap{copied, behind}) {
				t.Errorf("%s, wide=%d: got %x and %x, want %x and %x", template, i, a.Maps, b.Maps, boxes, copied)
			}
			if a := strings.Join(got[1].Arguments, " "); a != "copy y x" {
				t.Errorf("%s, wide=%d: the launch passes %s", template, i, a)
			}
		}
	}
	one, other := k("direct", 0), k("direct", 0)
	other.Launches[0].Maps[0].Words[6]++
	if one.Digest() == other.Digest() {
		t.Error("kernels with other maps have one digest")
	}
	if p.Admits(space.Configuration{Template: "direct", Values: space.Values{{Name: "rows", Value: expr.Int(512)}, {Name: "wide", Value: expr.Int(1)}}}) {
		t.Error("a box of 512 rows is admitted")
	}
	address := one.Launches[0].Maps[0].With(0x7f0123456000)
	if len(address) != 16 || address[0] != 0x7f0123456000 || int64(address[7]) != narrow.Words[6] || address[8] != 0 {
		t.Errorf("with its address a map is %x", address)
	}
}

// The formulas for a free (dynamic) dimension compute the same words as binding the dimension to its size.
func TestTensorMapsOfFreeDimensions(t *testing.T) {
	o, err := loadMapped(mappedOperator)
	must.OK(t, err)
	free := bound(t, o, Request{Shape: []int64{128, 64}, Free: []string{"n"}})
	for _, wide := range []int64{0, 1} {
		c := space.Configuration{Template: "direct", Values: space.Values{{Name: "rows", Value: expr.Int(16)}, {Name: "wide", Value: expr.Int(wide)}}}
		f, err := free.Formulas(c)
		must.OK(t, err)
		for _, n := range []int64{1, 96, 1 << 20} {
			p := bound(t, o, Request{Shape: []int64{n, 64}, Free: []string{"n"}})
			if got, want := evaluated(f, p.Values), boundTo(t, p, c); got != want || !strings.Contains(want, "copy y x") {
				t.Errorf("wide=%d, n=%d: got\n%swant\n%s", wide, n, got, want)
			}
		}
	}
}

const copiedAxes = "axes: [[w, 1, 8], [n, w, 8]]"

// A fault in a tensor map is reported in one line.
func TestTensorMapFaults(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"unknown tensor", "of: copy,", "of: kopy,", "op.yaml:20:28: no tensor or workspace that can be passed is called `kopy`; did you mean `copy`?"},
		{"name of a tensor", "{name: copied,", "{name: y,", "op.yaml:20:16: the tensor map `y` has the name of a tensor or scalar"},
		{"unknown map", "arguments: [copied,", "arguments: [copid,", "op.yaml:23:71: no tensor or scalar that can be passed is called `copid`; did you mean `copied`?"},
		{"no axes", copiedAxes, "axes: []", "op.yaml:20:63: axes has 0 entries; a tensor map has 1 to 5"},
		{"six axes", copiedAxes, "axes: [[w, 1, 8]" + strings.Repeat(", [n, w, 8]", 5) + "]", "axes has 6 entries; a tensor map has 1 to 5"},
		{"an axis without a box", copiedAxes, "axes: [[w, 1, 8], [n, w]]", "op.yaml:20:75: an axis has 2 numbers; as [extent, stride, box] or [extent, stride, box, step]"},
		{"large box", copiedAxes, "axes: [[w, 1, 8], [n, w, 257]]", "op.yaml:20:82: the box's extent 257: it must be 1 to 256"},
		{"neighbours apart", copiedAxes, "axes: [[w, 2, 8], [n, w, 8]]", "op.yaml:20:68: the stride of the first axis 2: it must be 1"},
		{"steps", "rows, 2]", "rows, 9]", "the step 9: it must be 1 to 8"},
		{"type", "of: copy, type: f32", "of: copy, type: f64", "op.yaml:20:40: `f64` is not defined here"},
		{"swizzle", "swizzle: 0, axes: [[w, 1, 8]", "swizzle: 16, axes: [[w, 1, 8]", "swizzle 16: it must be 32, 64 or 128 bytes, or 0 for none"},
		{"second without when", "when: wide, ", "", "op.yaml:19:9: the tensor map `boxes` never counts: one before it has no `when`"},
		{"unknown name", copiedAxes, "axes: [[v, 1, 8], [n, w, 8]]", "`v` is not defined here"},
	} {
		yaml := strings.Replace(mappedOperator, test.old, test.new, 1)
		if yaml == mappedOperator {
			t.Fatalf("%s: nothing changed", test.name)
		}
		_, err := loadMapped(yaml)
		refused(t, test.name, err, test.want)
	}
	for _, test := range []struct{ name, old, new, want string }{
		{"stride", copiedAxes, "axes: [[w, 1, 8], [n, w + 1, 8]]", "tensor map copied `(w + 1)*(4) % 16 == 0` for mapped 128x64: this must hold"},
		{"beyond the tensor", copiedAxes, "axes: [[w, 1, 8], [n + 1, w, 8]]", "its extents and strides reach 33024 bytes, and copy has 32768"},
		{"none counts", "type: tf32", "when: wide > 1, type: tf32", "template `direct` passes the tensor map `boxes`, and the `when` of none holds"},
	} {
		o, err := loadMapped(strings.Replace(mappedOperator, test.old, test.new, 1))
		must.OK(t, err)
		p := bound(t, o, Request{Shape: []int64{128, 64}})
		direct, _ := o.Template("direct")
		_, err = p.Kernel(direct.Default)
		refused(t, test.name, err, test.want)
	}
}

// A kernel that takes an address is refused if its launch passes a tensor map.
func TestTensorMapSignature(t *testing.T) {
	o, err := loadMapped(mappedOperator)
	must.OK(t, err)
	if err := o.CheckSignatures(); err != nil {
		t.Error(err)
	}
	for i := range o.Templates {
		o.Templates[i].Source.Text = "__global__ void fill(const float* x, float* y) {}"
	}
	want := "argument 1, boxes: the kernel `fill` takes const float*, the operator has a tensor map, which is const __grid_constant__ TensorMap"
	if err := o.CheckSignatures(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
}
