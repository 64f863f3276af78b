package jsonobject

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"autotune/internal/test/must"
)

type inner struct {
	File string `json:"file"`
}

type document struct {
	inner
	Schema  string           `json:"schema"`
	Entries []*inner         `json:"entries"`
	Values  map[string]inner `json:"values"`
	Own     json.RawMessage  `json:"own"`
	Plain   int
}

func TestExact(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"schema": "a", "entries": [{"file": "x"}, {"file": "y"}], "values": {"n": {"file": "a"}, "N": {}}, "later": {"File": 1}, "own": {"A": 1, "a": 2}, "Plain": 1}`, ""},
		{`{"schema": "a", "schema": "b"}`, `line 1, column 17: the key "schema" stands twice in one object`},
		{"{\n \"Schema\": \"a\"}", `line 2, column 2: the key "Schema" is spelled "schema"`},
		{`{"entries": [], "Entries": []}`, `the key "Entries" is spelled "entries"`},
		{`{"entries": [{"file": "x"}, {"FILE": "y"}]}`, `the key "FILE" is spelled "file"`},
		{`{"ſchema": "a"}`, `the key "ſchema" is spelled "schema"`},
		{`{"\u0073chema": "a", "schema": "b"}`, `the key "schema" stands twice`},
		{`{"File": 1}`, `the key "File" is spelled "file"`},
		{`{"plain": 1}`, `the key "plain" is spelled "Plain"`},
		{`{"values": {"n": {"fiLe": ""}}}`, `the key "fiLe" is spelled "file"`},
		{`{"values": {"n": {}, "n": {}}}`, `the key "n" stands twice`},
		{`{"own": {"a": [{"b": 1, "b": 2}]}}`, `the key "b" stands twice`},
		{`{"later": {"a": 1, "a": 1}}`, `the key "a" stands twice`},
		{"{\"schema\": \"\xff\"}", "a text is not UTF-8"},
		{`{"schema": "\ud800"}`, "half of a surrogate pair"},
		{`{"schema": "\udc00\ud800"}`, "half of a surrogate pair"},
		{`{"schema": "\ud83d\ude00 \ufffd \\ud800"}`, ""},
		{`{"schema": `, ""}, // left to the parser
		{`[]`, ""}, {`null`, ""}, {`1`, ""}, {`"a"`, ""}, {`{}`, ""},
	} {
		err := Exact([]byte(c.text), &document{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}

// A document that Exact accepts means the same to a reader that requires exact keys and uses the first of equal keys.
func FuzzExact(f *testing.F) {
	for _, text := range []string{`{"schema":"a","entries":[{"file":"x"}]}`, `{"Schema":1}`, `{"a":1,"a":2}`, `[[{"":"\\\""}]]`, `{"schema":"\ud800"}`, `{"a":-1.5e3,"b":[true,null]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if Exact([]byte(text), &document{}) != nil || !json.Valid([]byte(text)) {
			return
		}
		var d document
		if json.Unmarshal([]byte(text), &d) != nil {
			return
		}
		var keys map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &keys) != nil {
			return
		}
		var again document
		rest := map[string]json.RawMessage{}
		for _, key := range []string{"schema", "entries", "values", "own", "file", "Plain"} {
			if value, there := keys[key]; there {
				rest[key] = value
			}
		}
		whole, err := json.Marshal(rest)
		must.OK(t, err)
		must.OK(t, json.Unmarshal(whole, &again))
		var own, own2 bytes.Buffer
		_, _ = json.Compact(&own, d.Own), json.Compact(&own2, again.Own)
		if d.Own, again.Own = nil, nil; !reflect.DeepEqual(d, again) {
			t.Errorf("%s: %+v, and by exact keys %+v", text, d, again)
		}
	})
}
