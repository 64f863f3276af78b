package operator

import (
	"regexp"
	"strings"

	"autotune/internal/lists"
)

// An editor completes and checks op.yaml by a JSON Schema, which is made from keys.txt.

// Schema is part of a JSON Schema, and describes a value.
type Schema map[string]any

// NewSchema is the JSON Schema, of draft 2020-12, of an op.yaml.
func NewSchema() Schema {
	mappings := schemas{}
	root := mappings.mapping("an operator")
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", "op.yaml"
	root["$defs"] = mappings
	return root
}

// schemas are those of the mappings that others consist of, by name.
type schemas map[string]Schema

// plain is a value without parts. YAML may read an expression or a text as a number or a truth.
var plain = Schema{"type": []string{"string", "number", "boolean"}}

// values are what a key's value may be, by the words of keys.txt.
var values = map[string]Schema{
	"name": plain, "text": plain, "file": plain, "expression": plain, "value": plain,
	"integer": {"type": "integer"}, "number": {"anyOf": []Schema{{"type": "number"}, plain}}, "true or false": {"type": "boolean"},
	"shape":        {"anyOf": []Schema{plain, {"type": "array", "items": plain}}},
	"type":         {"anyOf": []Schema{{"enum": Types()}, plain}},
	"role":         {"enum": tensorRoles},
	"distribution": {"enum": distributions},
}

var quotedForm = regexp.MustCompile("`([^`]+)`")

// value is what the words of keys.txt allow, as "list of names or names: expression".
func (s schemas) value(words string) Schema {
	if known := values[words]; known != nil {
		return known
	}
	if strings.Contains(words, "`") {
		enum := lists.Of(quotedForm.FindAllStringSubmatch(words, -1), func(quoted []string) string { return quoted[1] })
		return Schema{"enum": enum}
	}
	if of, ok := strings.CutPrefix(strings.Replace(words, "conditions: ", "names: ", 1), "names: "); ok {
		return Schema{"type": "object", "properties": Schema{"include": including}, "additionalProperties": s.value(of)}
	}
	if one, other, ok := strings.Cut(words, " or "); ok {
		return Schema{"anyOf": []Schema{s.value(one), s.value(other)}}
	}
	if of, ok := strings.CutPrefix(words, "list of "); ok {
		return Schema{"type": "array", "items": Schema{"anyOf": []Schema{s.value(of), included}}}
	}
	for _, what := range []string{words, "a " + words, "an " + words} {
		for _, plural := range []string{"", "s", "es"} {
			if name := strings.TrimSuffix(what, plural); mappings()[name] != nil {
				return s.reference(name)
			}
		}
	}
	return values[strings.TrimSuffix(words, "s")]
}

// reference names a mapping, and describes it where it is the first to do so.
func (s schemas) reference(what string) Schema {
	name := strings.ReplaceAll(strings.TrimPrefix(what, "a "), " ", "_")
	if s[name] == nil {
		s[name] = Schema{} // a part of it may be the same mapping
		s[name] = s.mapping(what)
	}
	return Schema{"$ref": "#/$defs/" + name}
}

var (
	including = Schema{
		"anyOf":       []Schema{{"type": "string"}, {"type": "array", "items": Schema{"type": "string"}}},
		"description": "A file, or an earlier template, whose keys it has too; or several, the first before the others.",
	}
	// included is an item of a list that stands for the items of a file.
	included = Schema{
		"type": "object", "required": []string{"include"}, "additionalProperties": false,
		"properties": Schema{"include": including, "with": Schema{"type": "object", "additionalProperties": plain}},
	}
	linkForm = regexp.MustCompile(`,? \(?\[[^]]*\]\([^)]*\)\)?`)
)

// mapping describes a mapping. Its required keys may also come from a fragment that it includes.
func (s schemas) mapping(what string) Schema {
	properties, must := Schema{"include": including}, []string{}
	for _, key := range mappings()[what] {
		described := Schema{"description": linkForm.ReplaceAllString(key.meaning, "")}
		for word, means := range s.value(key.value) {
			described[word] = means
		}
		properties[key.name] = described
		if key.required {
			must = append(must, key.name)
		}
	}
	schema := Schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(must) > 0 {
		schema["anyOf"] = []Schema{{"required": must}, {"required": []string{"include"}}}
	}
	return schema
}
