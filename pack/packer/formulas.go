package packer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"autotune/pack"
	"autotune/space/expr"
)

// pyFormulas are the formulas of a manifest in Python. The loader looks a formula up by its text, so that it runs only
// what was written here.
type pyFormulas struct {
	Formulas, Choices, Quotients []pyFormula
}

type pyFormula struct {
	Text, Code string
	Names      []string
}

// addFormulas adds the formulas in Python. A notice tells of one that has no form there.
func (p *Packed) addFormulas(folder string) {
	found := map[string]*expr.Node{}
	formulasIn(reflect.ValueOf(&p.Manifest), func(text string, root *expr.Node) { found[text] = root })
	var all pyFormulas
	for _, text := range slices.Sorted(maps.Keys(found)) {
		n := found[text]
		code, err := expr.Python.Print(n)
		if err != nil {
			p.Notices = append(p.Notices, fmt.Sprintf("Python cannot compute %.60s: %v", text, err))
			continue
		}
		all.Formulas = append(all.Formulas, pyFormula{Text: text, Code: code})
		switch {
		case n.Op == expr.OpName:
			all.Choices = append(all.Choices, pyFormula{Text: text, Names: []string{"", n.Name, ""}})
		case n.Op == expr.OpIf && n.Args[0].Op == expr.OpName:
			all.Choices = append(all.Choices, pyFormula{Text: text, Names: []string{n.Args[0].Name, atom(n.Args[1]), atom(n.Args[2])}})
		case n.Op == expr.OpFloorDiv && n.Args[0].Op == expr.OpName && n.Args[1].Op == expr.OpName:
			all.Quotients = append(all.Quotients, pyFormula{Text: text, Names: []string{n.Args[0].Name, n.Args[1].Name}})
		}
	}
	p.files[folder+"formulas.py"] = write("formulas.py.tmpl", all)
}

// atom is a name, or 0.
func atom(n *expr.Node) string {
	if n.Op == expr.OpName || n.Op == expr.OpConst && n.Value == expr.Int(0) {
		return n.Source()
	}
	return ""
}

// formulasIn finds the formulas of a manifest, with those in explanations.
func formulasIn(v reflect.Value, found func(text string, root *expr.Node)) {
	switch of := v.Interface().(type) {
	case expr.Value:
		return
	case pack.Formula:
		if of.Expr != nil {
			found(of.String(), of.Root())
		}
		return
	case pack.Requirement:
		for _, part := range placeholder.FindAllString(of.Because, -1) {
			if e, err := expr.Parse(part[1 : len(part)-1]); err == nil {
				found(e.String(), e.Root())
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			formulasIn(v.Elem(), found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			formulasIn(v.Field(i), found)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if v.Type().Elem().Kind() != reflect.Uint8 {
				formulasIn(v.Index(i), found)
			}
		}
	}
}
