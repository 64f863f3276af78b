package operator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"autotune/internal/lists"
	"autotune/operator/tree"
	"autotune/space/expr"
)

// TensorMap says that a launch passes an argument as a tensor map (CUtensorMap) instead of its address. A tensor map is
// 128 bytes, passed by value, that tell Hopper's copy engine where the tensor is and which boxes of it to load. The
// first eight bytes of a tensor map are the address, followed by Words and zeros.
type TensorMap struct {
	At    int      `json:"at"` // index among the arguments that the launch passes
	Words [7]int64 `json:"words"`
}

// TensorMapBytes and TensorMapAlign are the size and alignment in bytes of a tensor map as a kernel's parameter.
const TensorMapBytes, TensorMapAlign = 128, 64

// With returns the tensor map of a tensor at an address, as words of eight bytes.
func (m TensorMap) With(address uint64) []uint64 {
	words := make([]uint64, TensorMapBytes/8)
	words[0] = address
	for i, word := range m.Words {
		words[1+i] = uint64(word)
	}
	return words
}

// reach returns how many bytes, counted from the tensor's start, a load through the tensor map can access.
func (m TensorMap) reach() int64 {
	low := func(word int) int64 { return m.Words[word] & (1<<32 - 1) }
	high := func(word int) int64 { return int64(uint64(m.Words[word]) >> 32) }
	bytes := int64(2)
	if m.Words[0]>>7&15 == floatElement {
		bytes = 4
	}
	return (low(3)+1)*bytes + 16*(high(3)*high(0)+low(4)*low(1)+high(4)*high(1)+low(5)*low(2))
}

// MapFormulas is a TensorMap whose words depend on free (dynamic) dimensions.
type MapFormulas struct {
	At    int
	Words [7]Formula
}

// MapAt returns the tensor map of the i-th argument that the launch passes, or nil if the address is passed.
func (l Launch) MapAt(i int) *TensorMap {
	at := slices.IndexFunc(l.Maps, func(m TensorMap) bool { return m.At == i })
	if at < 0 {
		return nil
	}
	return &l.Maps[at]
}

// TensorMapSpec describes a tensor map of a template; launches pass the tensor map by its name.
type TensorMapSpec struct {
	Name    string    `json:"name"`
	Of      string    `json:"of"`             // tensor or workspace
	When    *Formula  `json:"when,omitempty"` // nil: always. The first of a name that holds counts
	Type    Formula   `json:"type"`           // one of mapTypes
	Swizzle Formula   `json:"swizzle"`        // bytes of a swizzled line; 0: no swizzle
	Axes    []MapAxis `json:"axes"`           // the fastest axis first

	at     tree.Position
	counts *Formula         // When holds, and no earlier map of the same name counts; nil: always
	layout func() []Formula // the limits on its tensor; these and words are parsed at the first call
	words  func() [7]Formula
}

// MapAxis is an axis of a tensor map. Extent and Stride are the tensor's extent and stride along the axis, in elements.
// Box is the extent of a copied box along the axis, and Step the distance between the elements that are copied.
type MapAxis struct {
	Extent Formula `json:"extent"`
	Stride Formula `json:"stride"`
	Box    Formula `json:"box"`
	Step   Formula `json:"step"`
}

// mapTypes are the element types of tensor maps. The copy engine rounds numbers to tf32 with ties to even, and copies
// 16-bit elements unchanged.
var mapTypes = []string{string(F32), "tf32", string(F16), string(BF16)}

func (r *templateReader) tensorMaps() {
	formula := r.over(r.known)
	for _, item := range r.f["tensor_maps"].List("tensor_maps") {
		f := fields(item, "a tensor map")
		s := &TensorMapSpec{
			Name: f["name"].Name(), Of: f["of"].Name(), When: tree.Pointer(f["when"], formula), at: item.Position,
			Swizzle: formula(f["swizzle"]), Axes: list(r.language, f["axes"], "axes", r.mapAxis),
		}
		if n := f["type"]; slices.Contains(mapTypes, n.Written) {
			s.Type = Formula{Text: n.Written, Position: n.Position, code: expr.MustParse("'" + n.Written + "'")}
		} else {
			s.Type = formula(n)
		}
		if rank := len(s.Axes); rank < 1 || rank > 5 {
			f["axes"].Refuse("axes has %d entries; a tensor map has 1 to 5", rank)
		}
		tensors := lists.Of(r.passable(), func(a ArgumentSpec) string { return a.Name })
		if i := r.o.argument(s.Of); !r.Failed() && (!slices.Contains(tensors, s.Of) || r.o.Arguments[i].Role == Scalar) {
			hint := tree.NearestOrAll(s.Of, "there are", tensors)
			f["of"].RefuseHint(hint, "no tensor or workspace that can be passed is called `%s`", s.Of)
		}
		if r.o.argument(s.Name) >= 0 {
			f["name"].Refuse("the tensor map `%s` has the name of a tensor or scalar", s.Name)
		}
		s.refuseNumbers()
		s.layout, s.words = sync.OnceValue(s.layoutLimits), sync.OnceValue(s.asWords)
		s.counts = s.When
		for _, before := range r.TensorMaps {
			if before.Name == s.Name {
				if before.When == nil {
					item.Refuse("the tensor map `%s` never counts: one before it has no `when`", s.Name)
					return
				}
				s.counts = s.counts.butNot(*before.When)
			}
		}
		r.TensorMaps = append(r.TensorMaps, s)
	}
}

// mapAxis reads an axis as [extent, stride, box] or [extent, stride, box, step].
func (r *templateReader) mapAxis(n *tree.Node) MapAxis {
	numbers := list(r.language, n, "an axis", r.over(r.known))
	if len(numbers) < 3 || len(numbers) > 4 {
		n.RefuseHint("as [extent, stride, box] or [extent, stride, box, step]", "an axis has %d numbers", len(numbers))
		return MapAxis{constant("1"), constant("1"), constant("1"), constant("1")}
	}
	numbers = append(numbers, constant("1"))
	return MapAxis{numbers[0], numbers[1], numbers[2], numbers[3]}
}

// butNot returns a formula that is true if f is true and other is false. A nil condition is always true.
func (f *Formula) butNot(other Formula) *Formula {
	var in standIns
	in.add("__other", other)
	text := "not __other"
	if f != nil {
		in.add("__this", *f)
		text = "__this and not __other"
	}
	both := in.formula(text, other.Position)
	return &both
}

// refuseNumbers refuses a tensor map with constants that are not valid for any problem or configuration.
func (s *TensorMapSpec) refuseNumbers() {
	check := func(what, want string, f Formula, fits func(n int64) bool) {
		if root := f.code.Root(); root.Op == expr.OpConst {
			if n, ok := root.Value.AsInt(); !ok || !fits(n) {
				f.Refuse("%s %s: it must be %s", what, f.Text, want)
			}
		}
	}
	from1 := func(most int64) func(int64) bool { return func(n int64) bool { return 1 <= n && n <= most } }
	for i, axis := range s.Axes {
		check("the extent", "1 to 2147483647", axis.Extent, from1(mostExtent))
		check("the box's extent", "1 to 256", axis.Box, from1(256))
		check("the step", "1 to 8", axis.Step, from1(8))
		if i == 0 {
			check("the stride of the first axis", "1", axis.Stride, from1(1))
		}
	}
	check("swizzle", "32, 64 or 128 bytes, or 0 for none", s.Swizzle, func(n int64) bool {
		return slices.Contains([]int64{0, 32, 64, 128}, n)
	})
}

// floatElement is the code of 32-bit floats in a tensor map's element type; the code of 16-bit elements is 1.
const floatElement = 7

// mostExtent is the largest extent, and the largest stride in units of 16 bytes, that 32 bits of a word can hold.
const mostExtent = 1<<31 - 1

// mapBytes is an expression for the bytes of an element.
const mapBytes = "4 if __type in ['f32', 'tf32'] else 2"

// standIns returns the formulas of a tensor map by the names that expressions such as mapBytes use for them.
func (s *TensorMapSpec) standIns() (in standIns) {
	bytes := expr.MustParse(mapBytes).Substitute(map[string]*expr.Expr{"__type": s.Type.code})
	in.add("__bytes", Formula{Text: (&expr.Folder{}).Fold(bytes.Root()).Source(), code: bytes})
	in.add("__type", s.Type)
	in.add("__swizzle", s.Swizzle)
	for i, axis := range s.Axes {
		in.add(fmt.Sprint("__extent", i), axis.Extent)
		in.add(fmt.Sprint("__stride", i), axis.Stride)
		in.add(fmt.Sprint("__box", i), axis.Box)
		in.add(fmt.Sprint("__step", i), axis.Step)
	}
	return in
}

func (s *TensorMapSpec) limits() []Formula {
	all := []string{
		"__type in ['" + strings.Join(mapTypes, "', '") + "']", "__swizzle in [0, 32, 64, 128]", "__box0*__bytes % 16 == 0",
		"__swizzle == 0 or __box0*__bytes <= __swizzle", "__stride0 == 1 and __step0 == 1",
	}
	for i := range s.Axes {
		all = append(all, fmt.Sprintf("1 <= __box%d and __box%d*__step%d <= 256 and 1 <= __step%d <= 8", i, i, i, i))
	}
	return s.inForce(all)
}

func (s *TensorMapSpec) layoutLimits() []Formula {
	var all []string
	for i := range s.Axes {
		all = append(all, fmt.Sprintf("1 <= __extent%d <= %d", i, mostExtent))
		if i > 0 {
			all = append(all, fmt.Sprintf("__stride%d*__bytes %% 16 == 0", i))
			all = append(all, fmt.Sprintf("1 <= __stride%d*__bytes//16 <= %d", i, mostExtent))
		}
	}
	return s.inForce(all)
}

// inForce returns a tensor map's limits as formulas that are also true if the tensor map is not used.
func (s *TensorMapSpec) inForce(limits []string) []Formula {
	in, guard := s.standIns(), ""
	if s.counts != nil {
		in.add("__when", *s.counts)
		guard = "not __when or "
	}
	return lists.Of(limits, func(limit string) Formula { return in.formula(guard+limit, s.at) })
}

func (s *TensorMapSpec) asWords() (words [7]Formula) {
	rank := len(s.Axes)
	var sums [7][]string
	add := func(word, bit int, number string) {
		sums[word] = append(sums[word], fmt.Sprintf("(%s)*%d", number, int64(1)<<bit))
	}
	kind := fmt.Sprintf("(%d if __bytes == 4 else 1)*128", floatElement)
	sums[0] = []string{fmt.Sprint((rank - 1) * 16), kind, "min(__swizzle//32, 3)*8192", "(65536 if __type == 'tf32' else 0)"}
	strides := [][2]int{1: {0, 32}, 2: {1, 0}, 3: {1, 32}, 4: {2, 0}} // index and bit of the word that contains each axis's stride
	for axis := range rank {
		if axis > 0 {
			add(strides[axis][0], strides[axis][1], fmt.Sprintf("__stride%d*__bytes//16", axis))
			add(6, 8*(axis-1), fmt.Sprintf("__box%d*__step%d - 1", axis, axis))
		}
		add(3+axis/2, axis%2*32, fmt.Sprintf("__extent%d - 1", axis))
		add(5, 32+3*axis, fmt.Sprintf("__step%d - 1", axis))
	}
	add(5, 56, "(__box0*__step0 + 127) % 256 - 128") // a signed number in the highest byte
	in := s.standIns()
	for i, sum := range sums {
		words[i] = in.formula(strings.Join(append(sum, "0"), " + "), s.at)
	}
	return words
}

// passing returns the names of the tensors that a launch passes, and for each tensor its tensor map, or nil if the
// launch passes the address. The function holds evaluates the condition of a tensor map.
func (t *Template) passing(names []string, holds func(Formula) (bool, error)) (tensors []string, maps []*TensorMapSpec, err error) {
	tensors, maps = slices.Clone(names), make([]*TensorMapSpec, len(names))
	for at, name := range names {
		named := lists.Where(t.TensorMaps, func(s *TensorMapSpec) bool { return s.Name == name })
		for _, s := range named {
			counts := s.counts == nil
			if !counts {
				if counts, err = holds(*s.counts); err != nil {
					return nil, nil, err
				}
			}
			if counts {
				tensors[at], maps[at] = s.Of, s
			}
		}
		if len(named) > 0 && maps[at] == nil {
			return nil, nil, &tree.Error{Position: named[0].at, Message: fmt.Sprintf("template `%s` passes the tensor map `%s`, and the `when` of none holds", t.Name, name)}
		}
	}
	return tensors, maps, nil
}

func (u use) passes(s *LaunchSpec) (tensors []string, made []TensorMap, err error) {
	tensors, maps, err := u.t.passing(s.Arguments, func(f Formula) (bool, error) {
		v, err := u.value("when", f)
		return v.Truth(), err
	})
	served, _ := u.serves() // an editor may bind a problem that is not served; it accepts any tensors
	for at, spec := range maps {
		if spec == nil {
			continue
		}
		what := "tensor map " + spec.Name
		for _, f := range spec.layout() {
			if v, failed := u.value(what, f); served && (failed != nil || !v.Truth()) {
				return nil, nil, cmp.Or(failed, u.fault(f, what, errors.New("this must hold")))
			}
		}
		one := TensorMap{At: at}
		for i, f := range spec.words() {
			v, failed := u.value(what, f)
			if failed != nil {
				return nil, nil, failed
			}
			one.Words[i], _ = v.AsInt()
		}
		of := u.p.Arguments[u.p.Operator.argument(spec.Of)]
		if has := of.Bytes(); served && one.reach() > has {
			err := fmt.Errorf("its extents and strides reach %d bytes, and %s has %d", one.reach(), of.Name, has)
			return nil, nil, u.fault(spec.Axes[0].Extent, what, err)
		}
		made = append(made, one)
	}
	return tensors, made, err
}

func (r *reducer) passes(s LaunchSpec) (tensors []string, made []MapFormulas) {
	tensors, maps, err := r.u.t.passing(s.Arguments, func(f Formula) (bool, error) {
		root := r.constant(f).code.Root()
		return root.Op == expr.OpConst && root.Value.Truth(), nil
	})
	if err != nil {
		r.fail(s.Block[0], "%w", err)
	}
	for at, spec := range maps {
		if spec == nil {
			continue
		}
		one := MapFormulas{At: at}
		for i, f := range spec.words() {
			one.Words[i] = r.reduce(f)
		}
		made = append(made, one)
	}
	return tensors, made
}
