package expr

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseList(t *testing.T) {
	for source, want := range map[string]string{
		"list(range(1, 5))": "[1 2 3 4]", "range(3)": "[0 1 2]", "list(range(8, 0, -4))": "[8 4]", "range(0)": "[]",
		"[2**i for i in range(5)]": "[1 2 4 8 16]", "[1, 2.5]": "[1 2.5]", "7": "[7]", "3 + 4": "[7]", "('x', True,)": "[x true]",
		"[1] + [2*i for i in range(1, 3)] + list(range(8, 0, -4))": "[1 2 4 8 4]", "(16, 32*2)": "[16 64]",
		"[i if i > 1 else 9 for i in [1, 2]]": "[9 2]",
	} {
		if got, err := ParseList(source); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", source, got, err, want)
		}
	}
	for source, want := range map[string]string{
		"range(0, 1, 0)": "steps that are not 0", "range(2000000000)": "more than 500000 values", "[i for i in x]": "a list or a range",
		"[j for i in range(3)]": "unknown name 'j'", "range(99999999999)": "whole numbers of 32 bits", "range()": "where to stop",
		"range(1, 2, 3, 4)": "one to three", "list(3)": "one list or range", "[1] + 2": "a tuple or list stands only", "[1, 2": "expected ']'",
		"[i for i in [x]]": "must be constants", "[[1]]": "a tuple or list stands only", "[1/0]": "division by zero",
		"range(400000) + range(400000)": "more than 500000 values",
	} {
		if got, err := ParseList(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, %v, want %s", source, got, err, want)
		}
	}
	if _, err := Parse("range(3)"); err == nil {
		t.Error("range is known outside of lists")
	}
}

// FuzzParseList: any text is a list or an error, soon.
func FuzzParseList(f *testing.F) {
	for _, source := range []string{"[1, 2] + list(range(1, 9, 2))", "[i*i for i in range(4)]", "(1, 'a', 2.5)"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) { _, _ = ParseList(source) })
}
