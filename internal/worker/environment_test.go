package worker

import (
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	for name, value := range map[string]string{"PATH": "/bin", "CUDA_HOME": "/cuda", "CUDASECRET": "1", "AWS_SECRET_ACCESS_KEY": "2"} {
		t.Setenv(name, value)
	}
	got := Environment("PATH", "CUDA_*", "MISSING")
	if !slices.Contains(got, "PATH=/bin") || !slices.Contains(got, "CUDA_HOME=/cuda") || !slices.Contains(got, "LC_ALL=C") {
		t.Errorf("%q lacks a variable", got)
	}
	for _, variable := range got {
		if name, _, _ := strings.Cut(variable, "="); name != "PATH" && name != "LC_ALL" && !strings.HasPrefix(name, "CUDA_") {
			t.Errorf("it has %s", name)
		}
	}
}

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "",
		"it \x1b[31mburns\x07 \n":  "it  [31mburns",
		"a\u202eb\xff":             "a b\ufffd",
		strings.Repeat("x", 1<<20): strings.Repeat("x", lineBytes) + "...",
	} {
		if got := Shown(text); got != want {
			t.Errorf("%.40q: %.40q, want %.40q", text, got, want)
		}
	}
}
