package operator

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/space"
	"autotune/space/expr"
)

// A problem may leave dimensions free (dynamic): its kernels read these dimensions, and all values that depend on them,
// from a struct in constant memory at run time. One compiled kernel serves all shapes that differ only in free
// (dynamic) dimensions. In the compiled kernel, the struct contains the values for the shape of the problem that was
// bound.

const SizesSymbol = "autotune_sizes"

const IntSize = "int"

// Size is a member of the struct in constant memory: a value that depends on a free (dynamic) dimension.
type Size struct {
	Name  string     `json:"name"` // by which expressions know it
	Type  string     `json:"type"` // in C++: IntSize, or "double" of a number
	Value expr.Value `json:"-"`    // for the problem's own shape
}

func (t *Template) canFree(names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(t.Free, name) })
}

// folder returns an evaluator that reduces a template's formulas to constants, or to expressions of free (dynamic)
// dimensions. The evaluator treats the values in the argument kept as constants.
func (u use) folder(tunables, kept space.Values) *expr.Folder {
	f := &expr.Folder{Constants: withValues(u.p.Limits.beside(u.p.Values), tunables), Definitions: map[string]*expr.Expr{}}
	for _, name := range u.p.Free {
		delete(f.Constants, name)
	}
	for _, d := range slices.Concat(u.p.Operator.Derived, u.t.With, u.t.Derived) {
		delete(f.Constants, d.Name)
		f.Definitions[d.Name] = d.Formula.code
	}
	withValues(f.Constants, kept)
	return f
}

// kept returns the derived values that the configuration's kernel contains as constants.
func (u use) kept() space.Values {
	return lists.Of(u.t.Keep, func(name string) space.Value { return space.Value{Name: name, Value: u.env[name]} })
}

// Kinds returns a key for each template of the part, which lists the values that the template's default kernel contains
// as constants. Problems that differ only in free (dynamic) dimensions can share kernels of templates with equal keys.
func (part *Part) Kinds() (all []string) {
	for _, u := range part.uses {
		words := []string{u.t.Name}
		if at, err := u.at(u.t.Default.Values); err == nil {
			words = append(words, at.kept().Words()...)
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// sizes returns the names of the values that depend on free (dynamic) dimensions after folding constants.
func (u use) sizes(folder *expr.Folder) map[string]bool {
	found := map[string]bool{}
	for _, name := range u.p.Free {
		found[name] = true
	}
	for _, d := range slices.Concat(u.p.Operator.Derived, u.t.Derived) {
		if len(u.p.Free) > 0 && len(folder.Fold(&expr.Node{Op: expr.OpName, Name: d.Name}).Names()) > 0 {
			found[d.Name] = true
		}
	}
	return found
}

// sizesOf returns the sizes that a kernel needs: those of its template and of the other templates in its file.
func (u use) sizesOf(values space.Values) map[string]bool {
	found, own := u.sizes(u.folder(u.tunables(), u.kept())), u.known()
	for _, t := range neighbours(u.p, u.t.Name, u.t.Source) {
		beside, err := useOf(u.p, t).at(t.Default.Values)
		if err != nil {
			continue // neighbourValues skips it as well
		}
		for name := range beside.sizes(beside.folder(t.Default.Values, beside.kept())) {
			_, given := values.Get(name)
			if _, isOwn := own.Get(name); given && !isOwn {
				found[name] = true
			}
		}
	}
	return found
}

// Beside each integer size, the struct has a second member, the inverse of the size, with which a division by the size
// becomes a multiplication and a correction, as compilers do for a constant divisor.
const inverse = "inverse_of_"

func inverseOf(name string) Definition {
	return Definition{Name: inverse + name, Formula: constant(fmt.Sprintf("%d // max(%s, 1)", math.MaxInt32, name))}
}

// sizeText is the C++ code of AutotuneSize, the type of an integer size that stores its inverse for fast divisions.
const sizeText = `struct AutotuneSize {
    int value, inverse;
    __device__ __forceinline__ operator int() const { return value; }
};
__device__ __forceinline__ unsigned autotune_quotient(unsigned n, AutotuneSize by) {
    const unsigned least = static_cast<unsigned long long>(n) * (2u * by.inverse) >> 32, divisor = by.value;
    return least + (n - least * divisor >= divisor);
}
__device__ __forceinline__ int operator/(int n, AutotuneSize by) {
    const unsigned whole = autotune_quotient(n < 0 ? 0u - n : n, by);  // a branch would take longer
    return n < 0 ? 0u - whole : whole;
}
template <class T>
__device__ __forceinline__ T operator/(T n, AutotuneSize by) {
    if (T(1) / T(2) != T(0) || static_cast<unsigned long long>(n) >> 31) return n / by.value;
    return static_cast<T>(autotune_quotient(static_cast<unsigned>(n), by));
}
template <class T>
__device__ __forceinline__ T operator%(T n, AutotuneSize by) { return n - n / by * by.value; }
__device__ __forceinline__ int operator/(AutotuneSize n, AutotuneSize by) { return n.value / by; }
__device__ __forceinline__ int operator%(AutotuneSize n, AutotuneSize by) { return n.value % by; }
`

// withSizes replaces macros by values that the kernel reads at run time. withSizes includes only values that the
// kernel's text names, since the first read of each line of constant memory takes as long as a load from global memory.
func (k *Kernel) withSizes(names map[string]bool, known map[string]expr.Value, naming Naming) error {
	named := k.names()
	var inverses []Size
	for _, name := range sorted(names) {
		macro, v := naming.Macro(name), known[name]
		k.Macros = slices.DeleteFunc(k.Macros, func(m Macro) bool { return m.Name == macro })
		if !named(macro) {
			continue
		}
		size := Size{name, IntSize, v}
		switch v.Kind() {
		case expr.KindString:
			return fmt.Errorf("`%s`, the word %v, depends on a free dimension; only numbers can", name, v)
		case expr.KindFloat:
			size.Type = "double"
		case expr.KindInt:
			n, _ := v.AsInt()
			inverses = append(inverses, Size{inverse + name, IntSize, expr.Int(math.MaxInt32 / max(n, 1))})
		}
		k.Sizes = append(k.Sizes, size)
	}
	if len(k.Sizes) == 0 {
		return nil
	}
	// Sort the struct's doubles before its ints, so that the struct has no padding.
	slices.SortStableFunc(k.Sizes, func(a, b Size) int { return strings.Compare(a.Type, b.Type) })
	var macros strings.Builder
	for _, s := range k.Sizes {
		value := SizesSymbol + "." + s.Name
		if s.Value.Kind() == expr.KindInt {
			value = fmt.Sprintf("AutotuneSize{%s, %s.%s%s}", value, SizesSymbol, inverse, s.Name)
		}
		fmt.Fprintf(&macros, "#define %s (%s)\n", naming.Macro(s.Name), value)
	}
	k.Sizes = append(k.Sizes, inverses...)
	members := strings.Join(lists.Of(k.Sizes, func(s Size) string { return fmt.Sprintf(" %s %s;", s.Type, s.Name) }), "")
	values := strings.Join(lists.Of(k.Sizes, func(s Size) string { return macroValue(s.Value) }), ", ")
	// Macros must not name the struct's members, since a macro defined before the struct could have a member's name.
	before := fmt.Sprintf("struct AutotuneSizes {%s };\n__constant__ AutotuneSizes %s = {", members, SizesSymbol)
	k.sizesAt = [2]int{len(before), len(before) + len(values)}
	k.Source = before + values + "};\n" + sizeText + macros.String() + "#line 1\n" + k.Source
	return nil
}

// OfAnySize returns the kernel with 1 for all sizes, so that kernels that differ only in sizes compile to the same
// code. The result ok is false if the kernel reads no sizes at run time, or a size that is not an integer.
func (k Kernel) OfAnySize() (_ Kernel, ok bool) {
	if len(k.Sizes) == 0 || slices.ContainsFunc(k.Sizes, func(s Size) bool { return s.Type != IntSize }) {
		return k, false
	}
	k.Sizes = lists.Of(k.Sizes, func(s Size) Size { return Size{s.Name, s.Type, expr.Int(1)} })
	k.Launches, k.Workspaces = lists.Of(k.Launches, func(l Launch) Launch { return Launch{Entry: l.Entry} }), nil
	ones := "1" + strings.Repeat(", 1", len(k.Sizes)-1)
	k.Source = k.Source[:k.sizesAt[0]] + ones + k.Source[k.sizesAt[1]:]
	return k, true
}

// names returns a function that tells whether the kernel's code names a macro. The function that names returns also
// recognises names that the preprocessor joins, such as POSITIONS_##X.
func (k *Kernel) names() func(macro string) bool {
	words := map[string]bool{}
	apart := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, text := range append(slices.Collect(maps.Values(k.Includes)), k.Source) {
		for word := range strings.FieldsFuncSeq(cudafile.BlankComments(text), apart) {
			words[word] = true
		}
	}
	return func(macro string) bool {
		at := strings.LastIndexByte(macro, '_') + 1
		return words[macro] || at > 0 && words[macro[:at]]
	}
}

// sizeLimits returns constraints by which every value that a kernel reads at run time fits a C++ int.
func (u use) sizeLimits() []Formula {
	if len(u.p.Free) == 0 {
		return nil
	}
	return lists.Of(sorted(u.sizes(u.folder(nil, nil))), func(name string) Formula {
		return constant(fmt.Sprintf("%d <= %s <= %d", math.MinInt32, name, math.MaxInt32))
	})
}
