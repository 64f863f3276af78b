package tree_test

import (
	"testing"

	"autotune/operator/tree"
)

// Text in another encoding is refused at its first byte that is not UTF-8. The column in an error message counts
// characters, not bytes.
func TestNotUTF8(t *testing.T) {
	for text, want := range map[string]string{
		"summary: gr\xfc\xdfe\n":          "op.yaml:1:12: the byte 0xfc is not UTF-8; save the file as UTF-8",
		"a: 1\nb: größe \xe9\nc: \xff":    "op.yaml:2:10: the byte 0xe9 is not UTF-8; save the file as UTF-8",
		"a: \ufffd\n# a cut letter: \xc3": "op.yaml:2:17: the byte 0xc3 is not UTF-8; save the file as UTF-8",
		"a: größe \ufffd\n":               "",
	} {
		err := parsed(text)
		if got := message(err); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func parsed(text string) error {
	var faults tree.Faults
	tree.File{Name: "op.yaml", What: "an operator's description", Faults: &faults}.Parse(text)
	return faults.Err()
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
