package packer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/pack"
	"autotune/tuner/cudasource"
)

// small writes a pack with one winner.
func small(t testing.TB, name string) string {
	t.Helper()
	return packed(t, name, []cudasource.Winner{winner(t, operator.Request{Shape: []int64{1, 4, 9, 9}}, "max_pool2d")})
}

// edit changes a pack's manifest, which it passes to a function as decoded JSON.
func edit(t *testing.T, path string, change func(m map[string]any)) {
	t.Helper()
	file := filepath.Join(path, pack.ManifestFile)
	text, err := os.ReadFile(file)
	must.OK(t, err)
	var m map[string]any
	must.OK(t, json.Unmarshal(text, &m))
	change(m)
	if text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	must.OK(t, os.WriteFile(file, text, 0o644))
}

// cubinIn returns the path of the only tuned kernel in a pack.
func cubinIn(t *testing.T, path string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(path, "kernels", "*.cubin"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0]
}

func entry(m map[string]any) map[string]any { return m["entries"].([]any)[0].(map[string]any) }

func launch(m map[string]any) map[string]any { return entry(m)["launches"].([]any)[0].(map[string]any) }

func conv(m map[string]any) map[string]any { return m["operators"].([]any)[0].(map[string]any) }

// A damaged pack, or one with a false manifest, must be refused with a one-line error.
func TestDamage(t *testing.T) {
	testneeds.Nothing(t)
	whole := small(t, "whole")
	for name, test := range map[string]struct {
		damage func(t *testing.T, path string)
		want   string
	}{
		"a flipped bit": {func(t *testing.T, path string) {
			data, err := os.ReadFile(cubinIn(t, path))
			data[3] ^= 1
			must.OK(t, os.WriteFile(cubinIn(t, path), data, 0o644))
			must.OK(t, err)
		}, "is not the file that was packed"},
		"no manifest":        {func(t *testing.T, path string) { remove(t, filepath.Join(path, pack.ManifestFile)) }, "manifest.json is missing"},
		"half a manifest":    {func(t *testing.T, path string) { truncate(t, filepath.Join(path, pack.ManifestFile), 900) }, "manifest.json is damaged"},
		"an endless text":    {func(t *testing.T, path string) { replace(t, path, `{"schema":"`+strings.Repeat("a", 2<<20)+`"}`) }, "too large"},
		"a deep manifest":    {func(t *testing.T, path string) { replace(t, path, strings.Repeat("[", 10_000)) }, "too large"},
		"a newer schema":     {editing(func(m map[string]any) { m["schema"] = "autotune/pack/6" }), `its schema is "autotune/pack/6" and this program reads autotune/pack/5;`},
		"another document":   {editing(func(m map[string]any) { m["schema"] = "autotune/best-config/3" }), `its schema is "autotune/best-config/3"`},
		"a path out of it":   {editing(func(m map[string]any) { m["files"].(map[string]any)["../../etc/passwd"] = map[string]any{"bytes": 1} }), `the path "../../etc/passwd" leaves the pack`},
		"too large a file":   {editing(func(m map[string]any) { m["files"].(map[string]any)["a"] = map[string]any{"bytes": 1 << 40} }), "a would have 1099511627776 bytes"},
		"a bad formula":      {editing(func(m map[string]any) { conv(m)["math_auto"] = "1 +" }), "the formula"},
		"an unlisted kernel": {editing(func(m map[string]any) { entry(m)["file"] = "kernels/other.cubin" }), `its file "kernels/other.cubin" is not among the pack's files`},
		"a made-up operator": {editing(func(m map[string]any) { entry(m)["operator"] = "nothing" }), `it is of the operator "nothing"`},
		"a made-up tensor":   {editing(func(m map[string]any) { launch(m)["arguments"] = []any{"z"} }), `a launch takes "z"`},
		"a grid of nothing":  {editing(func(m map[string]any) { launch(m)["grid"] = []any{0, 1, 1} }), "it is launched with the number 0, where 1 is the least"},
		"endless memory":     {editing(func(m map[string]any) { entry(m)["workspaces"] = []any{map[string]any{"name": "w", "value": 1 << 60}} }), "it is launched with the number 1152921504606846976"},
		"a made-up target":   {editing(func(m map[string]any) { entry(m)["target"] = "gfx90a" }), `"gfx90a" is no architecture`},
		"a name with quotes": {editing(func(m map[string]any) { conv(m)["shape"] = []any{`n"; system("ls`} }), "is no name"},
		"no launch":          {editing(func(m map[string]any) { entry(m)["launches"] = nil }), "it launches nothing"},
		"a null operator":    {editing(func(m map[string]any) { m["operators"] = []any{nil} }), "manifest.json"},
		"a null entry":       {editing(func(m map[string]any) { m["entries"] = []any{nil} }), "manifest.json"},
		"a null kernel":      {editing(func(m map[string]any) { m["general"] = []any{nil} }), "manifest.json"},
	} {
		t.Run(name, func(t *testing.T) {
			path := copyOf(t, whole)
			test.damage(t, path)
			fails(t, path, test.want)
		})
	}
}

func copyOf(t testing.TB, pack string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy")
	must.OK(t, os.CopyFS(path, os.DirFS(pack)))
	return path
}

// fails checks that a pack is refused with a one-line error that contains a text.
func fails(t *testing.T, path, want string) {
	t.Helper()
	if _, err := pack.Open(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, want one line with %q", err, want)
	}
}

// refused copies a pack, changes the copy's manifest, and checks that the copy is refused.
func refused(t *testing.T, whole, want string, change func(m map[string]any)) (path string) {
	t.Helper()
	path = copyOf(t, whole)
	edit(t, path, change)
	fails(t, path, want)
	return path
}

func editing(change func(m map[string]any)) func(*testing.T, string) {
	return func(t *testing.T, path string) { edit(t, path, change) }
}

func truncate(t *testing.T, path string, size int64) { must.OK(t, os.Truncate(path, size)) }
func remove(t *testing.T, path string)               { must.OK(t, os.Remove(path)) }
func symlink(t *testing.T, to, path string)          { must.OK(t, os.Symlink(to, path)) }
func pipe(t *testing.T, path string)                 { must.OK(t, syscall.Mkfifo(path, 0o644)) }

func replace(t *testing.T, path, text string) {
	must.OK(t, os.WriteFile(filepath.Join(path, pack.ManifestFile), []byte(text), 0o644))
}

// A family with false data in its manifest must be refused with a one-line error.
func TestDamagedFamilies(t *testing.T) {
	testneeds.Nothing(t)
	whole := packedFamilies(t, []Family{fakeFamily(t, "max_pool2d", "{1..8}x3x{6..80}x{6..80}", "n,h,w", "kernel=3")})
	of := func(change func(f, entry map[string]any)) func(m map[string]any) {
		return func(m map[string]any) {
			f := m["families"].([]any)[0].(map[string]any)
			change(f, f["entries"].([]any)[0].(map[string]any))
		}
	}
	for want, change := range map[string]func(m map[string]any){
		"null stands where":                           func(m map[string]any) { m["families"] = []any{nil} },
		`it is of the operator "nothing"`:             of(func(f, _ map[string]any) { f["operator"] = "nothing" }),
		`"sm_x" is no architecture`:                   of(func(f, _ map[string]any) { f["target"] = "sm_x" }),
		"its range has 1 dimensions":                  of(func(f, _ map[string]any) { f["range"] = []any{nil} }),
		"its range of n has 3 to 2":                   of(func(f, _ map[string]any) { f["range"].([]any)[0] = []any{[]any{3, 2}} }),
		"it does not say what kernel_h is":            of(func(f, _ map[string]any) { delete(f["values"].(map[string]any), "kernel_h") }),
		"or null stands for one":                      of(func(f, _ map[string]any) { f["entries"] = []any{nil} }),
		"its tree lacks a branch":                     of(func(f, _ map[string]any) { delete(f, "tree") }),
		"its tree names the entry 99":                 of(func(f, _ map[string]any) { f["tree"] = map[string]any{"entries": []any{99}} }),
		"or is too deep":                              of(func(f, _ map[string]any) { f["tree"] = deep(f["tree"]) }),
		"entry 0: its file":                           of(func(_, e map[string]any) { e["file"] = "kernels/other.cubin" }),
		`entry 0: "a b" is no name`:                   of(func(_, e map[string]any) { e["define"] = []any{map[string]any{"name": "a b", "value": "1"}} }),
		`a launch takes "z"`:                          of(func(_, e map[string]any) { open0(e)["arguments"] = []any{"z"} }),
		`the formula "1 +"`:                           of(func(_, e map[string]any) { open0(e)["when"] = "1 +" }),
		`it reads "nobody", which nothing defines`:    of(func(_, e map[string]any) { sizes0(e)["names"] = []any{"nobody"} }),
		"sizes at 99999999 are not within":            of(func(_, e map[string]any) { sizes0(e)["at"] = 99999999 }),
		"sizes at -1 are not within":                  of(func(_, e map[string]any) { sizes0(e)["at"] = -1 }),
		"sizes at 9223372036854775807 are not within": of(func(_, e map[string]any) { sizes0(e)["at"] = json.Number("9223372036854775807") }),
	} {
		refused(t, whole, want, change)
	}
}

func open0(entry map[string]any) map[string]any { return entry["launches"].([]any)[0].(map[string]any) }

func sizes0(entry map[string]any) map[string]any { return entry["sizes"].(map[string]any) }

// deep nests a tree in more conditions than a family may have.
func deep(tree any) any {
	for range 17 {
		tree = map[string]any{"if": "n <= 1", "then": tree, "else": map[string]any{}}
	}
	return tree
}

// A loader must ignore manifest fields that it does not know.
func TestUnknownFields(t *testing.T) {
	path := small(t, "layers")
	edit(t, path, func(m map[string]any) {
		m["later"] = map[string]any{"a": 1}
		entry(m)["later"] = []any{}
	})
	plan, err := open(t, path).On(h100()).Plan("max_pool2d", []int64{1, 4, 9, 9}, nil, "")
	if err != nil || plan.Entry == nil {
		t.Error(err)
	}
}
