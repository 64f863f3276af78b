package packer

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"autotune/pack"
	"autotune/space/expr"
)

// pyFormula is a formula of a manifest as Python code. The Python loader finds a formula's code by the formula's text,
// so that it runs only code that the packer wrote.
type pyFormula struct{ Text, Code string }

// addFormulas writes all formulas as Python code, or adds a notice if a formula cannot be written in Python.
func (p *Packed) addFormulas(folder string) {
	found := map[string]*expr.Node{}
	formulasIn(reflect.ValueOf(&p.Manifest), func(text string, root *expr.Node) { found[text] = root })
	var all []pyFormula
	for _, text := range slices.Sorted(maps.Keys(found)) {
		code, err := expr.Python.Print(found[text])
		if err != nil {
			p.Notices = append(p.Notices, fmt.Sprintf("Python cannot compute %.60s: %v", text, err))
			continue
		}
		all = append(all, pyFormula{text, code})
	}
	p.files[folder+"formulas.py"] = write("formulas.py.tmpl", all)
}

// placeholder matches a formula in braces in the explanation of a requirement.
var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// formulasIn finds all formulas in a manifest, including those in explanations.
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
