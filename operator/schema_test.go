package operator

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// validator checks values against the words of JSON Schema that NewSchema uses.
type validator struct {
	root   map[string]any
	folder string
	files  map[string]bool // fragments that were read
	part   bool            // what is checked is included elsewhere, so keys may be absent
}

func (v *validator) check(schema map[string]any, x any) error {
	if name, ok := schema["$ref"].(string); ok {
		schema = v.root["$defs"].(map[string]any)[strings.TrimPrefix(name, "#/$defs/")].(map[string]any)
	}
	for word, means := range schema {
		if err := v.word(schema, word, means, x); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) word(schema map[string]any, word string, means, x any) error {
	object, _ := x.(map[string]any)
	list, _ := x.([]any)
	switch word {
	case "$ref", "$schema", "$defs", "title", "description", "additionalProperties":
	case "type":
		kinds, several := means.([]any)
		if !several {
			kinds = []any{means}
		}
		kind := kindOf(x)
		if !slices.Contains(kinds, any(kind)) && !(kind == "integer" && slices.Contains(kinds, any("number"))) {
			return fmt.Errorf("%v is no %v", x, means)
		}
	case "enum":
		if !slices.Contains(means.([]any), x) {
			return fmt.Errorf("%v is none of %v", x, means)
		}
	case "anyOf":
		var faults []string
		for _, one := range means.([]any) {
			err := v.check(one.(map[string]any), x)
			if err == nil {
				return nil
			}
			faults = append(faults, err.Error())
		}
		return fmt.Errorf("%s", strings.Join(faults, "; or "))
	case "required":
		for _, key := range means.([]any) {
			if _, ok := object[key.(string)]; !ok && !v.part {
				return fmt.Errorf("lacks %v", key)
			}
		}
	case "items":
		for i, item := range list {
			if err := v.item(means.(map[string]any), item); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
	case "properties":
		return v.properties(schema, means.(map[string]any), object)
	default:
		return fmt.Errorf("the validator does not know %q", word)
	}
	return nil
}

func (v *validator) properties(schema, known, object map[string]any) error {
	for key, value := range object {
		one, ok := known[key].(map[string]any)
		if !ok {
			one, ok = schema["additionalProperties"].(map[string]any)
		}
		if !ok {
			return fmt.Errorf("unknown key %s", key)
		}
		if err := v.check(one, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	names, several := object["include"].([]any)
	if !several {
		names = []any{object["include"]}
	}
	for _, one := range names {
		name, _ := one.(string)
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		x, err := v.read(name)
		if err != nil {
			return err
		}
		inside := *v
		inside.part = true
		if err := within(name, inside.check(schema, x)); err != nil {
			return err
		}
	}
	return nil
}

func within(place string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return nil
}

// item checks one of a list, or the items of the file that it stands for.
func (v *validator) item(schema map[string]any, item any) error {
	object, _ := item.(map[string]any)
	if name, _ := object["include"].(string); strings.HasSuffix(name, ".yaml") {
		x, err := v.read(name)
		if list, ok := x.([]any); ok && err == nil {
			inside := *v
			inside.part = true
			return within(name, inside.word(nil, "items", schema, list))
		}
	}
	return v.check(schema, item)
}

func (v *validator) read(name string) (x any, err error) {
	for _, folder := range []string{v.folder, "../templates/include"} {
		file := filepath.Join(folder, name)
		if text, err := os.ReadFile(file); err == nil {
			v.files[file] = true
			return x, yaml.Unmarshal(text, &x)
		}
	}
	return nil, fmt.Errorf("no file %s", name)
}

func kindOf(x any) string {
	switch x.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int, int64, uint64:
		return "integer"
	case float64:
		return "number"
	}
	return "null"
}

func theSchema(t *testing.T) map[string]any {
	t.Helper()
	text, err := json.Marshal(NewSchema())
	var schema map[string]any
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	must(t, err)
	return schema
}

// Each description of an operator that is here is what an editor takes for right.
func TestSchemaAllowsWhatLoads(t *testing.T) {
	schema, files := theSchema(t), map[string]bool{}
	operators, _ := filepath.Glob("../templates/*/op.yaml")
	more, _ := filepath.Glob("../examples/*/op.yaml")
	if operators = slices.Concat(operators, more); len(operators) < 15 || len(more) == 0 {
		t.Fatalf("there are only %v", operators)
	}
	for _, file := range operators {
		v := validator{root: schema, folder: filepath.Dir(file), files: files}
		x, err := v.read(filepath.Base(file))
		if err == nil {
			err = v.check(schema, x)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	fragments, _ := filepath.Glob("../templates/*/*.yaml")
	for _, file := range fragments {
		if !files[file] {
			t.Errorf("nothing includes %s, so that nobody has compared it with the schema", file)
		}
	}
}

// Loader and schema refuse a key that they do not know.
func TestSchemaRefusesUnknownKeys(t *testing.T) {
	schema := theSchema(t)
	for _, place := range []string{"operator: scale\n|", "times: {|", "- {|name: x", "math: {|", "- name: direct\n    |", "- {|name: scratch", "launch: {|"} {
		before, after, _ := strings.Cut(place, "|")
		separator := ", "
		if at := strings.LastIndexByte(before, '\n'); at >= 0 {
			separator = before[at:]
		}
		text := strings.Replace(evidenceOperator, before+after, before+"qqqqqqqqqq: 1"+separator+after, 1)
		if _, err := Load(evidenceFiles(text), "."); err == nil || !strings.Contains(err.Error(), "unknown key `qqqqqqqqqq`") {
			t.Errorf("%q: the loader says %v", place, err)
		}
		var x any
		must(t, yaml.Unmarshal([]byte(text), &x))
		v := validator{root: schema}
		if err := v.check(schema, x); err == nil || !strings.Contains(err.Error(), "unknown key qqqqqqqqqq") {
			t.Errorf("%q: the schema says %v", place, err)
		}
	}
	var x any
	must(t, yaml.Unmarshal([]byte(evidenceOperator), &x))
	v := validator{root: schema}
	if err := v.check(schema, x); err != nil {
		t.Error(err)
	}
}

// Each key of the table has a value that the schema knows.
func TestSchemaKnowsEachValue(t *testing.T) {
	for what, keys := range mappings() {
		for _, key := range keys {
			if what != "a problem" && len(schemas{}.value(key.value)) == 0 {
				t.Errorf("%s: %s: no schema for %q", what, key.name, key.value)
			}
		}
	}
}
