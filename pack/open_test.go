package pack

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"autotune/internal/test/must"
)

// onDisk writes the seed pack into a temporary folder.
func onDisk(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pack")
	must.OK(t, os.CopyFS(dir, seedFiles(seed)))
	return dir
}

// fails checks that an error is one line that contains a text.
func fails(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want one line with %q", err, want)
	}
}

// Open must refuse a manifest that different loaders could understand differently.
func TestManifestsOfTwoMeanings(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"entries":[{"operator"`, `"Entries":[],"entries":[{"operator"`, `the key "Entries" is spelled "entries"`},
		{`"general":[`, `"general":[],"general":[`, `the key "general" stands twice`},
		{`"file":"a.cubin",`, `"file":"a.cubin","fiLe":"b.cubin",`, `the key "fiLe" is spelled "file"`},
		{`"values":{"n":4,`, `"values":{"n":5,"n":4,`, `the key "n" stands twice`},
		{`"a.cubin":{`, `"a.cubin":{"bytes":0,"sha256":""},"a.cubin":{`, `the key "a.cubin" stands twice`},
		{`"problem":"scale 4"`, `"problem":"scale \ud800"`, "half of a surrogate pair"},
		{`"files":{`, `"files":{"A.cubin":{"bytes":0,"sha256":"x"},`, "A.cubin and a.cubin are one file where case does not count"},
		{`"files":{`, `"files":{"./a.cubin":{"bytes":0,"sha256":"x"},`, `the path "./a.cubin" leaves the pack`},
		{`"files":{`, `"files":{"a\nb":{"bytes":0,"sha256":"x"},`, "leaves the pack, or is no plain one"},
		{`"files":{`, `"files":{"Manifest.json":{"bytes":0,"sha256":"x"},`, "leaves the pack, or is no plain one"},
		{`"types":{"f32":4`, `"types":{"f32":-4`, `an element of the type "f32" has -4 bytes; it may have 1 to 16`},
		{`"types":{"f32":4`, `"types":{"f32":0`, `has 0 bytes`},
		{`"bf16":2`, `"f16":2`, `the tensor "x" has the type "type", which`},
		{`{"name":"y","role":"output"`, `{"name":"x","role":"output"`, `two of its tensors are called "x"`},
		{`"workspaces":[{"name":"w","value":16}]`, `"workspaces":[{"name":"w","bytes":16},{"name":"w","value":1}]`, `workspaces and scalars are called "w"`},
		{`"derived":[{"name":"m"`, `"derived":[{"name":"by","value":"1"},{"name":"m"`, "there are two values of the name by"},
		{`"min":1`, `"min":"1); system(\"id\"); (1"`, "has bounds that are no numbers"},
		{`"type":"int"`, `"type":"integer"`, `is of the type "integer"`},
		{`"math":["fp32"],"math_auto"`, `"math":["fp32\"); x"],"math_auto"`, "each is a name"},
		{`"math":"fp32","target"`, `"math":"tf32","target"`, `in the math mode "tf32", which the operator has not`},
		{`"values":{"n":4,"by":2`, `"values":{"n":0,"by":2`, "its dimension n is"},
		{`"values":{"n":4,"by":2,`, `"values":{"n":4,`, "it does not say what by is"},
		{`"sizes":["n","by","m"]`, `"sizes":["n","q","m"]`, `it takes "q", which nothing defines`},
		{`"math":"fp32","type":"f32"`, `"math":"fp32","type":"f8"`, `it is of the type "f8"`},
	} {
		text := strings.Replace(seed, c.old, c.new, 1)
		if text == seed {
			t.Fatalf("%s is not in the seed", c.old)
		}
		_, err := read(seedFiles(text))
		fails(t, err, c.want)
	}
}

// Open must read only regular files, and must not wait for a writer to a pipe.
func TestIrregularFiles(t *testing.T) {
	for name, test := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"a pipe":       {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "a.cubin"), 0o600) }, "a.cubin: it is no regular file"},
		"a folder":     {func(dir string) error { return os.Mkdir(filepath.Join(dir, "a.cubin"), 0o700) }, "a.cubin: it is no regular file"},
		"a link":       {func(dir string) error { return os.Symlink("b.cubin", filepath.Join(dir, "a.cubin")) }, "a.cubin has 10 bytes"},
		"a link out":   {func(dir string) error { return os.Symlink("/etc/hostname", filepath.Join(dir, "a.cubin")) }, "a.cubin: path escapes"},
		"a device":     {func(dir string) error { return os.Symlink("/dev/zero", filepath.Join(dir, "a.cubin")) }, "a.cubin: path escapes"},
		"nothing":      {func(string) error { return nil }, "a.cubin is missing"},
		"another size": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a.cubin"), []byte("x"), 0o600) }, "has 1 bytes; it may have 0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := onDisk(t)
			must.OK(t, os.Remove(filepath.Join(dir, "a.cubin")))
			must.OK(t, test.change(dir))
			_, err := Open(dir)
			fails(t, err, test.want)
		})
	}
	dir := onDisk(t)
	must.OK(t, os.Remove(filepath.Join(dir, ManifestFile)))
	must.OK(t, syscall.Mkfifo(filepath.Join(dir, ManifestFile), 0o600))
	if Is(dir) {
		t.Error("a pipe is taken for a manifest")
	}
}

// Unlisted must refuse files that the manifest does not list, since a program in Python or C could load them.
func TestUnlistedFiles(t *testing.T) {
	for name, want := range map[string]string{
		"python/layers/torch.py":                       "python/layers/torch.py is not among the files that its manifest lists",
		"python/layers/__pycache__/pack.cpython-1.pyc": "Python has left python/layers/__pycache__ there",
		"c/a\nb": "c/a b is not among",
	} {
		dir := onDisk(t)
		p, err := Open(dir)
		must.OK(t, err)
		must.OK(t, p.Unlisted())
		file := filepath.Join(dir, filepath.FromSlash(name))
		must.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.OK(t, os.WriteFile(file, nil, 0o600))
		fails(t, p.Unlisted(), want)
	}
	dir := onDisk(t)
	p, err := Open(dir)
	must.OK(t, err)
	must.OK(t, os.Symlink("/tmp", filepath.Join(dir, "more")))
	fails(t, p.Unlisted(), "more: it is no regular file")
}

// Formulas whose value would be huge or undefined must return quickly, with or without an error.
func TestFormulasAreBounded(t *testing.T) {
	for _, formula := range []string{"9**9**9", "n**9**9", "(-9223372036854775807-1)//-1", "(0-9223372036854775807-1) % -1", "n // 0", "n % 0", "ceil_div(n, 0)", "2**63", "gcd(0-9223372036854775807-1, 0)",
		"abs(0-9223372036854775807-1)", "int(1e300)", "round(1e300)", "'a' * 9", "0**-1", strings.Repeat("n*", 30000) + "n", strings.Repeat("(", 190) + "n" + strings.Repeat(")", 190)} {
		text := strings.Replace(seed, `"value":"n*by if n > 1 else 1"`, `"value":"`+formula+`"`, 1)
		p, err := read(seedFiles(text))
		if err != nil {
			t.Fatal(formula[:min(len(formula), 40)], err)
		}
		if plan, err := p.On(nothing{}).Plan("scale", []int64{4}, map[string]string{"by": "2"}, ""); err == nil && len(plan.Tensors) != 3 {
			t.Errorf("%s: %+v", formula, plan)
		}
	}
}
