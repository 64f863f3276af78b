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

// TensorMapSpec describes a tensor map of a template's, which launches pass by its name.
type TensorMapSpec struct {
	Name    string    `json:"name"`
	Of      string    `json:"of"`             // tensor or workspace
	When    *Formula  `json:"when,omitempty"` // nil: always. The first of a name that holds counts
	Bytes   Formula   `json:"bytes"`          // of an element
	Rounded Formula   `json:"rounded"`        // to TF32
	Swizzle Formula   `json:"swizzle"`        // bytes of a line; 0: none
	Extents []Formula `json:"extents"`
	Strides []Formula `json:"strides"` // elements between neighbours, from axis 1 on
	Box     []Formula `json:"box"`     // its extents
	Steps   []Formula `json:"steps,omitempty"`

	at     tree.Position
	counts *Formula         // When, and no earlier one of the name counts; nil: always
	layout func() []Formula // the limits on its tensor; these and its words are parsed when they are first asked for
	words  func() [7]Formula
}

// tensorMaps reads the maps that launches can pass.
func (r *templateReader) tensorMaps() {
	formula := r.over(r.known)
	for _, item := range r.f["tensor_maps"].List("tensor_maps") {
		f := fields(item, "a tensor map")
		several := func(what string, count int) []Formula {
			all := list(r.language, f[what], what, formula)
			if len(all) != count {
				f[what].Refuse("%s has %d entries; with as many extents as here it needs %d", what, len(all), count)
			}
			return all
		}
		s := &TensorMapSpec{
			Name: f["name"].Name(), Of: f["of"].Name(), When: tree.Pointer(f["when"], formula), at: item.Position,
			Bytes: formula(f["bytes"]), Rounded: tree.Optional(f["rounded"], formula, constant("False")), Swizzle: formula(f["swizzle"]),
			Extents: list(r.language, f["extents"], "extents", formula),
		}
		rank := len(s.Extents)
		if rank < 1 || rank > 5 {
			f["extents"].Refuse("extents has %d entries; a tensor map has 1 to 5 axes", rank)
		}
		s.Strides, s.Box = several("strides", rank-1), several("box", rank)
		if f["steps"] != nil {
			s.Steps = several("steps", rank)
		}
		tensors := lists.Of(r.passable(), func(a ArgumentSpec) string { return a.Name })
		if i := r.o.argument(s.Of); !slices.Contains(tensors, s.Of) || r.o.Arguments[i].Role == Scalar {
			f["of"].RefuseHint(tree.NearestOrAll(s.Of, "there are", tensors), "no tensor or workspace that can be passed is called `%s`", s.Of)
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
				}
				s.counts = s.counts.butNot(*before.When)
			}
		}
		r.TensorMaps = append(r.TensorMaps, s)
	}
}

// butNot is a condition, nil for one that always holds, where another does not hold.
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

// refuseNumbers refuses numbers that no problem and no configuration makes right.
func (s *TensorMapSpec) refuseNumbers() {
	check := func(what, want string, fits func(n int64) bool, formulas ...Formula) {
		for _, f := range formulas {
			if root := f.code.Root(); root.Op == expr.OpConst {
				if n, ok := root.Value.AsInt(); !ok || !fits(n) {
					f.Refuse("%s %s: it must be %s", what, f.Text, want)
				}
			}
		}
	}
	from1 := func(most int64) func(int64) bool { return func(n int64) bool { return 1 <= n && n <= most } }
	among := func(of ...int64) func(int64) bool { return func(n int64) bool { return slices.Contains(of, n) } }
	check("the extent", "1 to 2147483647", from1(mostExtent), s.Extents...)
	check("the box's extent", "1 to 256", from1(256), s.Box...)
	check("the step", "1 to 8", from1(8), s.Steps...)
	check("bytes", "2 or 4", among(2, 4), s.Bytes)
	check("swizzle", "32, 64 or 128 bytes, or 0 for none", among(0, 32, 64, 128), s.Swizzle)
}

// floatElement is the number of floats among the types of elements. That of 16 bits is 1.
const floatElement = 7

// mostExtent is the largest extent, and the largest distance in 16 bytes, that fits a word's half.
const mostExtent = 1<<31 - 1

func (s *TensorMapSpec) formulas() []Formula {
	all := slices.Concat([]Formula{s.Bytes, s.Rounded, s.Swizzle}, s.Extents, s.Strides, s.Box, s.Steps)
	if s.When != nil {
		all = append(all, *s.When)
	}
	return all
}

// standIns are a map's formulas under the names that its words and limits know them by.
func (s *TensorMapSpec) standIns() (in standIns) {
	in.add("__bytes", s.Bytes)
	in.add("__rounded", s.Rounded)
	in.add("__swizzle", s.Swizzle)
	for i, f := range s.Extents {
		in.add(fmt.Sprint("__extent", i), f)
		in.add(fmt.Sprint("__box", i), s.Box[i])
		if i > 0 {
			in.add(fmt.Sprint("__stride", i), s.Strides[i-1])
		}
		if s.Steps != nil {
			in.add(fmt.Sprint("__step", i), s.Steps[i])
		}
	}
	return in
}

// reach is how far a box goes along an axis.
func (s *TensorMapSpec) reach(axis int) string {
	if s.Steps == nil {
		return fmt.Sprint("__box", axis)
	}
	return fmt.Sprintf("__box%d*__step%d", axis, axis)
}

// limits are the copy engine's on a map's boxes.
func (s *TensorMapSpec) limits() []Formula {
	all := []string{
		"__bytes in [2, 4]", "__swizzle in [0, 32, 64, 128]", "not __rounded or __bytes == 4",
		"__box0*__bytes % 16 == 0", "__swizzle == 0 or __box0*__bytes <= __swizzle",
	}
	for i := range s.Extents {
		all = append(all, fmt.Sprintf("1 <= __box%d and %s <= 256", i, s.reach(i)))
		if s.Steps != nil {
			all = append(all, fmt.Sprintf("1 <= __step%d <= %d", i, []int{1, 8}[min(i, 1)])) // along the first axis neighbours alone
		}
	}
	return s.inForce(all)
}

func (s *TensorMapSpec) layoutLimits() []Formula {
	var all []string
	for i := range s.Extents {
		all = append(all, fmt.Sprintf("1 <= __extent%d <= %d", i, mostExtent))
		if i > 0 {
			all = append(all, fmt.Sprintf("__stride%d*__bytes %% 16 == 0", i), fmt.Sprintf("1 <= __stride%d*__bytes//16 <= %d", i, mostExtent))
		}
	}
	return s.inForce(all)
}

// inForce are limits that hold where the map does not count.
func (s *TensorMapSpec) inForce(limits []string) []Formula {
	in, guard := s.standIns(), ""
	if s.counts != nil {
		in.add("__when", *s.counts)
		guard = "not __when or "
	}
	return lists.Of(limits, func(limit string) Formula { return in.formula(guard+limit, s.at) })
}

// asWords are the formulas of a map's words.
func (s *TensorMapSpec) asWords() (words [7]Formula) {
	rank := len(s.Extents)
	stride := func(axis int) string { return fmt.Sprintf("__stride%d*__bytes//16", axis) }
	extent := func(axis int) string { return fmt.Sprintf("__extent%d - 1", axis) }
	var sums [7][]string
	add := func(word, bit int, number string) {
		sums[word] = append(sums[word], fmt.Sprintf("(%s)*%d", number, int64(1)<<bit))
	}
	along := func(word, bit, axis int, number func(axis int) string) {
		if axis < rank {
			add(word, bit, number(axis))
		}
	}
	sums[0] = []string{fmt.Sprintf("%d + (%d if __bytes == 4 else 1)*128 + min(__swizzle//32, 3)*8192 + (65536 if __rounded else 0)", (rank-1)*16, floatElement)}
	along(0, 32, 1, stride)
	along(1, 0, 2, stride)
	along(1, 32, 3, stride)
	along(2, 0, 4, stride)
	for axis := range 5 {
		along(3+axis/2, axis%2*32, axis, extent)
	}
	for axis := range s.Steps {
		add(5, 32+3*axis, fmt.Sprintf("__step%d - 1", axis))
	}
	add(5, 56, "("+s.reach(0)+" + 127) % 256 - 128") // the highest byte, of a number with a sign
	for axis := 1; axis < rank; axis++ {
		add(6, 8*(axis-1), s.reach(axis)+" - 1")
	}
	in := s.standIns()
	for i, sum := range sums {
		words[i] = in.formula(strings.Join(append(sum, "0"), " + "), s.at)
	}
	return words
}

// passing gives the names of the tensors that a launch passes, and the maps that it passes them as; nil is none. Holds
// evaluates a map's condition.
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
	served, _ := u.serves() // else an editor asks, for which any tensors will do
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
			return nil, nil, u.fault(spec.Extents[0], what, fmt.Errorf("its extents and strides reach %d bytes, and %s has %d", one.reach(), of.Name, has))
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
