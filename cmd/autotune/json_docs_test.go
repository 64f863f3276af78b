package main

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"autotune/device/remote"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/reports"
	"autotune/space"
	"autotune/tuner/lint"
	"autotune/tuner/store"
)

// told lists types of other packages whose JSON fields docs/cli.md must list, too.
var told = []reflect.Type{
	reflect.TypeFor[trial.Trial](), reflect.TypeFor[operator.ParameterSpec](), reflect.TypeFor[operator.ArgumentSpec](),
	reflect.TypeFor[operator.TemplateDocument](), reflect.TypeFor[operator.LaunchSpec](), reflect.TypeFor[operator.Definition](),
	reflect.TypeFor[operator.TensorMapSpec](), reflect.TypeFor[operator.MapAxis](),
	reflect.TypeFor[space.Tunable](),
}

// fieldsOf returns the JSON names of a type's fields, including those of embedded structs. Fields whose types belong
// to this package or to the list `told` contribute their own fields, too.
func fieldsOf(t reflect.Type) []string {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, fieldsOf(f.Type)...)
			continue
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		}
		names = append(names, name)
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner == reflect.TypeFor[*operator.Template]() {
			inner = reflect.TypeFor[operator.TemplateDocument]()
		}
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.PkgPath() == t.PkgPath() && strings.HasSuffix(inner.PkgPath(), "/autotune") || slices.Contains(told, inner) {
			names = append(names, fieldsOf(inner)...)
		}
	}
	return names
}

var fieldForm = regexp.MustCompile(`^[a-z_]+$`)

// docs/cli.md must list exactly the fields that the documents of --json have.
func TestDocumentedJSON(t *testing.T) {
	types := map[string]reflect.Type{
		"ops show": reflect.TypeFor[operator.Operator](),
		"devices":  reflect.TypeFor[listing](),
		"explain":  reflect.TypeFor[explained](),
		"check":    reflect.TypeFor[lint.Report](),
		"verify":   reflect.TypeFor[reports.Verification](),
		"cache ls": reflect.TypeFor[store.Summary](),
		"workers":  reflect.TypeFor[remote.Worker](),
	}
	for _, row := range table(t, "docs/cli.md", "command | what it writes") {
		command := codes(row[0])[0]
		if command == "ops" { // its document is a list of another command's
			continue
		}
		var documented []string
		for _, code := range codes(row[1]) {
			if fieldForm.MatchString(code) {
				documented = append(documented, code)
			}
		}
		of, ok := types[command]
		if !ok {
			t.Errorf("docs/cli.md describes JSON of %s, which this test does not know", command)
			continue
		}
		same(t, "docs/cli.md, JSON of "+command, documented, fieldsOf(of))
		delete(types, command)
	}
	for command := range types {
		t.Errorf("docs/cli.md does not describe the JSON of %s", command)
	}
}
