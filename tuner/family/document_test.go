package family

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// small is the smallest document that Read accepts.
const small = `{"schema": "autotune/family/1", "operator": "matmul", "shapes": "{1..9}x4", "dimensions": ["m", "k"], "free": ["m"],
"entries": [{"template": "tiled", "configuration": {"block_x": 16}}], "tree": {"if": "m <= 64", "then": {"entries": [0]}, "else": {"entries": []}},
"samples": [{"shape": [3, 4], "ms": [null], "chosen": -1}]}`

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		small: "",
		strings.Replace(small, `"tree"`, `"by": "cost", "choices": {}, "probes": [], "tree"`, 1): "", // fields of an earlier version
		"[" + small + "]": "",
		"{":               "the document is cut short",
		"[null]":          "it holds no family",
		strings.Replace(small, "family/1", "family/2", 1):                           `its schema is "autotune/family/2"`,
		strings.Replace(small, "m <= 64", "n <= 64", 1):                             `its tree asks for ["n"]`,
		strings.Replace(small, "m <= 64", "m <=", 1):                                "m <=",
		strings.Replace(small, `"entries": [0]`, `"entries": [1]`, 1):               "its tree names entries [1] of 1",
		strings.Replace(small, `"else": {"entries": []}`, `"other": 1`, 1):          "its tree lacks a branch",
		strings.Replace(small, `"chosen": -1`, `"chosen": 1`, 1):                    "its sample 3x4 does not fit",
		strings.Replace(small, "{1..9}x4", "{1..9}", 1):                             "its shapes `{1..9}` are not 2 ranges",
		strings.Replace(small, `"free": ["m"]`, `"free": ["q"]`, 1):                 `its free dimensions ["q"]`,
		strings.Replace(small, `"entries": [{"template"`, `"entries": [4, {"a"`, 1): "must be",
	} {
		list, err := Read(strings.NewReader(text))
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%s: %v, want %q", text, err, want)
		case want == "" && (err != nil || len(list) != 1):
			t.Errorf("%s: %v", text, err)
		case want == "":
			var first, second bytes.Buffer
			again, err := list, WriteJSON(&first, list)
			if err == nil {
				again, err = Read(bytes.NewReader(first.Bytes()))
			}
			if err != nil || WriteJSON(&second, again) != nil || first.String() != second.String() {
				t.Errorf("%v: %s became %s", err, first.String(), second.String())
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, family := range list {
			if err := family.WriteText(io.Discard); err != nil {
				t.Error(err)
			}
		}
	})
}
