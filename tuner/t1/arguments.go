package t1

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"autotune/internal/cudafile"
	"autotune/space/expr"
	"autotune/tuner/draft"
	"autotune/tuner/operator"
	"autotune/tuner/operator/tree"
)

// typeNames are T1's names of types.
var typeNames = map[operator.Type]string{
	operator.Bool: "bool", operator.F16: "half", operator.F32: "float", operator.F64: "double",
	operator.I8: "int8", operator.I16: "int16", operator.I32: "int32", operator.I64: "int64",
	operator.U8: "uint8", operator.U16: "uint16", operator.U32: "uint32", operator.U64: "uint64",
}

// typesByName are the types by these names, and by those that documents have besides.
var typesByName = func() map[string]operator.Type {
	types := map[string]operator.Type{"int": operator.I32, "uint": operator.U32, "char": operator.I8, "uchar": operator.U8}
	for t, name := range typeNames {
		types[name] = t
	}
	return types
}()

// element is the type of a name's elements, and how many of them the name stands for.
func element(name string) (t operator.Type, count int64, err error) {
	base := strings.TrimRight(name, "0123456789")
	if t, ok := typesByName[name]; ok {
		return t, 1, nil
	}
	if t, ok := typesByName[base]; ok && t.Kind() == operator.Floating && slices.Contains([]string{"1", "2", "3", "4", "8", "16"}, name[len(base):]) {
		_, err := fmt.Sscan(name[len(base):], &count)
		return t, count, err
	}
	return "", 0, fmt.Errorf("the type %q has no equivalent; there are bool, int8 to int64, uint8 to uint64, half, float and double", name)
}

// argument is one of the document's.
type argument struct {
	*section
	name, memory string
	role         string // "": as the document says
	constant     bool   // it lies in constant memory, under its name
	kind         operator.Type
	count        int64
}

// arguments reads the kernel's arguments, and what is copied to constant memory.
func (r *reader) arguments() error {
	all := make([]argument, len(r.given))
	for _, s := range r.given {
		r.sizes = append(r.sizes, (&section{values: maps.Clone(s.values)}).text("Size"))
	}
	for i, s := range r.given {
		var err error
		if all[i], err = r.argument(i, s); err != nil {
			return err
		}
	}
	var bytes []string
	var passed, symbols []draft.Argument
	twice := r.entry != nil && len(r.entry.Parameters) == len(all) // Kernel Tuner passes what is in constant memory, too
	for i, a := range all {
		if !a.constant || twice {
			r.agree(&all[i], len(passed))
			a = all[i]
		}
		one, err := r.tensor(a)
		if err != nil {
			return err
		}
		if one.Size != "" {
			bytes = append(bytes, fmt.Sprintf("%d*(%s)", a.kind.Bytes(), one.Size))
		}
		if a.constant {
			symbol := one
			symbol.Symbol = a.name
			symbols = append(symbols, symbol)
			if !twice {
				continue
			}
			one.Name += "_passed"
			one.Comment = "Kernel Tuner passes it, too"
		}
		passed = append(passed, one)
	}
	named := r.entry != nil && !slices.ContainsFunc(r.entry.Parameters, func(p cudafile.Parameter) bool { return p.Name == "" })
	if named && len(passed) != len(r.entry.Parameters) {
		return r.surplus(passed)
	}
	r.o.Arguments = append(passed, symbols...)
	r.o.Bytes = strings.Join(bytes, " + ")
	if r.o.Bytes == "" {
		return fmt.Errorf("%s lists no vector: nothing could be compared", r.kernel.name("Arguments"))
	}
	if !slices.ContainsFunc(r.o.Arguments, func(a draft.Argument) bool { return a.Role == "output" || a.Role == "inout" }) {
		return fmt.Errorf("%s: no argument is written (AccessType WriteOnly or ReadWrite): nothing could be compared", r.kernel.name("Arguments"))
	}
	return nil
}

// surplus is the error of a document that does not pass what the kernel takes.
func (r *reader) surplus(passed []draft.Argument) error {
	var own, constants []string
	for _, a := range passed {
		if !slices.ContainsFunc(r.entry.Parameters, func(p cudafile.Parameter) bool { return p.Name == a.Name }) {
			own = append(own, a.Name)
		}
	}
	for _, c := range cudafile.Constants(r.source) {
		if !slices.ContainsFunc(r.given, func(s *section) bool { return s.values["Name"] == c.Name }) {
			constants = append(constants, c.Name)
		}
	}
	text := fmt.Sprintf("%s has %d that are passed, and the kernel %s takes %d", r.kernel.name("Arguments"), len(passed), r.entry.Name, len(r.entry.Parameters))
	switch {
	case len(passed) < len(r.entry.Parameters):
		return fmt.Errorf("%s: add the one that is missing", text)
	case len(own) == 0:
		return fmt.Errorf("%s: take out the one that it does not take", text)
	case len(constants) > 0:
		return fmt.Errorf("%s; it names no parameter %s: give the one that is copied to the constant variable %s that Name and the MemoryType Symbol", text, strings.Join(own, ", "), strings.Join(constants, " or "))
	}
	return fmt.Errorf("%s; it names no parameter %s: take out what it does not take", text, strings.Join(own, ", "))
}

func (r *reader) argument(i int, s *section) (a argument, err error) {
	a = argument{section: s, name: s.text("Name"), memory: s.text("MemoryType")}
	if a.name == "" {
		a.name = fmt.Sprintf("argument_%d", i+1)
		if r.entry != nil && i < len(r.entry.Parameters) && r.entry.Parameters[i].Name != "" {
			a.name = r.entry.Parameters[i].Name
		}
	}
	if !tree.IsName(a.name) {
		return a, fmt.Errorf("%s is %q; a name has letters, digits and _", s.name("Name"), a.name)
	}
	kind := s.text("Type")
	if a.kind, a.count, err = element(kind); err != nil {
		own, lanes, ok := operator.Type(""), int64(0), false
		if r.entry != nil && i < len(r.entry.Parameters) {
			own, lanes, ok = r.known.Type(r.entry.Parameters[i].Type)
		}
		if !ok {
			return a, fmt.Errorf("%s: %w", s.name("Type"), err)
		}
		a.kind, a.count = own, lanes
		r.note("%s.Type is left out: %s is made of %d %s", s.path, kind, lanes, own)
	}
	s.take("TypeSize") // the type says it
	a.constant = a.memory == "Symbol" || s.text("MemType") == "Constant"
	if !slices.Contains([]string{"Scalar", "Vector", "Symbol"}, a.memory) {
		return a, fmt.Errorf("%s is %q, which has no equivalent; there are Scalar, Vector and Symbol", s.name("MemoryType"), a.memory)
	}
	if a.constant && !slices.ContainsFunc(cudafile.Constants(r.source), func(c cudafile.Constant) bool { return c.Name == a.name }) {
		a.constant = false
		r.note("%s: the kernel's file has no `__constant__` variable %s; it is passed", s.path, a.name)
	}
	return a, nil
}

// agree takes the type of the kernel's own parameter if it differs from the document's. It also
// takes the role from the kernel if its text tells.
func (r *reader) agree(a *argument, place int) {
	if r.entry == nil || place >= len(r.entry.Parameters) {
		return
	}
	p := r.entry.Parameters[place]
	if own, _, ok := r.known.Type(cmp.Or(r.typed[p.Type], p.Type)); ok && own != a.kind {
		r.note("%s.Type is left out: the kernel takes %s, which is %s", a.path, own.CUDA(), own)
		a.kind = own
	}
	use := r.entry.Use(p.Name)
	access, _ := a.values["AccessType"].(string)
	switch {
	case a.memory != "Vector" || use.Passed && !use.Written:
	case access == "ReadOnly" && use.Written && !p.Const:
		a.role = map[bool]string{true: "inout", false: "output"}[use.Read]
	case access == "WriteOnly" && use.Read && !use.Written:
		a.role = "input"
	}
	if a.role != "" {
		r.note("%s.AccessType is left out: the kernel has %s as %s", a.path, a.name, a.role)
	}
}

// tensor is an argument as op.yaml has it.
func (r *reader) tensor(a argument) (draft.Argument, error) {
	d := draft.Argument{Name: a.name, Type: string(a.kind)}
	value := a.text("FillValue")
	access := a.text("AccessType")
	a.take("Output")
	if a.memory == "Scalar" {
		a.take("Size")
		a.take("FillType")
		if d.Value = value; value == "" {
			return d, fmt.Errorf("%s is missing: the scalar %s has no value", a.section.name("FillValue"), a.name)
		}
		return d, r.scalar(&d, a)
	}
	if a.constant && access != "ReadOnly" {
		r.note("%s.AccessType is left out: kernels only read what is in constant memory", a.path)
		a.role = "input"
	}
	d.Role = cmp.Or(a.role, map[string]string{"ReadOnly": "input", "WriteOnly": "output", "ReadWrite": "inout"}[access])
	if d.Role == "" {
		return d, fmt.Errorf("%s is %q; it must be ReadOnly, WriteOnly or ReadWrite", a.section.name("AccessType"), access)
	}
	size, err := r.expression(a.section.name("Size"), a.text("Size"))
	if err != nil {
		return d, err
	}
	if d.Size = size; a.count > 1 {
		d.Size = fmt.Sprintf("%d*(%s)", a.count, size)
	}
	return d, r.fill(&d, a, value)
}

// scalar checks that a value is written as its type has it.
func (r *reader) scalar(d *draft.Argument, a argument) error {
	e, err := expr.Parse(d.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", a.section.name("FillValue"), err)
	}
	v, err := e.Eval(nil)
	if err != nil {
		return fmt.Errorf("%s: %w", a.section.name("FillValue"), err)
	}
	if c := v.Canonical(); a.kind.Kind() != operator.Floating {
		d.Value = c.Source()
	}
	return nil
}

// indices is the fill of a tensor that the kernel uses as indices; "" if its text does not tell.
func (r *reader) indices(a argument) string {
	if r.entry == nil || a.kind.Kind() == operator.Floating || a.kind == operator.Bool {
		return ""
	}
	at := slices.Index(r.given, a.section)
	if at >= len(r.entry.Parameters) {
		return ""
	}
	array, bounds := draft.Indexed(*r.entry, r.entry.Parameters[at].Name)
	for i, p := range r.entry.Parameters {
		if p.Name != array || array == "" || i >= len(r.given) {
			continue
		}
		if size, err := r.expression("Size", r.sizes[i]); err == nil {
			return draft.IndexFill("("+size+")", bounds)
		}
	}
	return ""
}

// fill says what a tensor holds. Kernel Tuner draws Random from the normal
// distribution, which is then the first of the operator's; the gates try the others.
func (r *reader) fill(d *draft.Argument, a argument, value string) error {
	kind := a.text("FillType")
	if fill := r.indices(a); fill != "" && d.Role != "output" && kind != "Constant" {
		a.take("DataSource")
		d.Fill = fill
		r.note("%s.FillType is left out: the kernel finds elements by %s, which is filled with %s", a.path, a.name, fill)
		return nil
	}
	switch {
	case d.Role == "output":
		if kind != "" {
			r.note("%s.FillType is left out: autotune fills outputs with a pattern that shows which elements no thread writes", a.path)
		}
	case kind == "Constant":
		value = cmp.Or(value, "0")
		d.Fill = "constant(" + value + ")"
	case kind == "Random" || kind == "":
		r.o.Inputs = []string{"normal", "uniform01", "negative", "special"}
		if value != "" && value != "1" && value != "1.0" && value != "0" && value != "0.0" {
			r.note("%s.FillValue is left out: %s of random numbers says nothing", a.path, value)
		}
	default:
		a.take("DataSource")
		r.note("%s.FillType is left out: %s has no equivalent, and %s holds random numbers", a.path, kind, a.name)
	}
	if seed := a.text("RandomSeed"); seed != "" {
		r.note("%s.RandomSeed is left out: a search and its gates have seeds of their own", a.path)
	}
	return nil
}
