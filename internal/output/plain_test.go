package output

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func FuzzLine(f *testing.F) {
	for _, seed := range []string{"NVIDIA H100", "a\x1b[31mred\x1b[0m", "x\nautotune: done", "\xff\xfe", "\u202eback", "\u009b2J", "µs, ×, 日本"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := Line(text)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%q became %q", text, line)
		}
		var shown bytes.Buffer
		if n, err := Plain(&shown).Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d of %d: %v", n, len(text), err)
		}
		if strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(shown.String()), unicode.IsControl) {
			t.Errorf("%q was shown as %q", text, shown.String())
		}
	})
}

func TestLineKeepsWhatPeopleWrite(t *testing.T) {
	for text, want := range map[string]string{"41.6 µs × 2": "41.6 µs × 2", "日本": "日本", "a\r\nb": "a  b", "\x1b[31mred": "[31mred"} {
		if got := Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
