package jsonerror

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"hello", "line 1, column 1: not JSON: invalid character 'h' looking for beginning of value"},
		{"[1]", "line 1, column 1: the document must be an object, not a list"},
		{"{\n\"names\": [\"a\",\n7]}", "line 3, column 1: names must be a string, not a number"},
		{"{\n\"names\":\n[", "the document is cut short: its JSON ends at line 3"},
		{"{\n\n\"nmaes\": []}", "line 3, column 1: unknown key \"nmaes\"; remove it or mend its spelling"},
	} {
		var document struct {
			Names []string `json:"names"`
		}
		decoder := json.NewDecoder(strings.NewReader(c.text))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&document)
		if err == nil {
			t.Errorf("%q decodes", c.text)
			continue
		}
		if got := Describe(err, []byte(c.text), decoder.InputOffset()).Error(); got != c.want {
			t.Errorf("%q: got  %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	data := []byte("a\nb\n")
	for offset, want := range map[int64]int{-1: 1, 0: 1, 1: 1, 2: 2, 4: 3, 9: 3} {
		if got := line(data, offset); got != want {
			t.Errorf("offset %d: got line %d, want %d", offset, got, want)
		}
	}
}
