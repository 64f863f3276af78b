package space

import (
	"fmt"
	"testing"
)

func TestPythonList(t *testing.T) {
	for source, want := range map[string]string{
		"list(range(1, 5))": "[1 2 3 4]", "range(3)": "[0 1 2]", "list(range(8, 0, -4))": "[8 4]",
		"[2**i for i in range(5)]": "[1 2 4 8 16]", "[1, 2.5]": "[1 2.5]",
	} {
		if got, err := pythonList(source); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", source, got, err, want)
		}
	}
	for _, source := range []string{"range(0, 1, 0)", "range(2000000000)", "[i for i in x]", "[j for i in range(3)]", "range(99999999999)"} {
		if got, err := pythonList(source); err == nil {
			t.Errorf("%s is %v", source, got)
		}
	}
}
