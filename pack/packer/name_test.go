package packer

import (
	"context"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for path, want := range map[string]string{
		"layers": "layers", "out/My-Layers.d": "my_layers", "9.d": "pack_9", "_x": "pack_x", "class/": "pack_class", "..": "pack", "ünder": "nder", "a.b.c": "a_b",
	} {
		if got := NameOf(path); got != want || checkName(got) != nil {
			t.Errorf("the name of %s is %s, want %s", path, got, want)
		}
	}
	for _, name := range []string{"", "a", "a b", "1x", "../x", "A1", "x_", "import", "a\n"} {
		if _, err := Make(context.Background(), nil, nil, nil, Options{Name: name}); err == nil || !strings.Contains(err.Error(), "a pack cannot have the name") {
			t.Errorf("the name %q: %v", name, err)
		}
	}
}
