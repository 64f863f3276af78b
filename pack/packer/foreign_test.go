package packer

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/pack"
)

// Loader code that does not match the manifest must be found, even if the manifest has the changed file's digest.
func TestForeignLoaders(t *testing.T) {
	testneeds.Nothing(t)
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	operators := map[string]*operator.Operator{op.Name: op}
	families := packedFamilies(t, []Family{fakeFamily(t, "max_pool2d", "{1..8}x3x{6..80}x{6..80}", "n,h,w", "kernel=3")})
	for _, whole := range []string{small(t, "layers"), families} {
		found := func(change func(path string)) (foreign, unknown []string) {
			path := copyOf(t, whole)
			change(path)
			edit(t, path, func(m map[string]any) { // a forger would also replace the digest
				files := m["files"].(map[string]any)
				clear(files)
				must.OK(t, filepath.WalkDir(path, func(file string, d os.DirEntry, err error) error {
					name, _ := filepath.Rel(path, file)
					if err != nil || d.IsDir() || name == pack.ManifestFile {
						return err
					}
					data, err := os.ReadFile(file)
					of := fileOf(data)
					files[name] = map[string]any{"bytes": of.Bytes, "sha256": of.SHA256}
					return err
				}))
			})
			p := open(t, path)
			must.OK(t, p.Unlisted())
			foreign, unknown, err := Foreign(p, operators)
			must.OK(t, err)
			return foreign, unknown
		}
		add := func(name, text string) func(string) {
			return func(path string) {
				file := filepath.Join(path, filepath.FromSlash(name))
				old, err := os.ReadFile(file)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				must.OK(t, os.WriteFile(file, append(old, text...), 0o600))
			}
		}
		if foreign, unknown := found(func(string) {}); foreign != nil || unknown != nil {
			t.Errorf("as it was packed: %s, %s", foreign, unknown)
		}
		for _, name := range []string{"python/layers/pack.py", "python/layers/functions.py", "python/layers/max_pool2d_gradients.py",
			"python/layers/torch.py", "c/autotune_pack.c", "c/layers.c", "c/layers.h", "c/CMakeLists.txt", "c/more.h"} {
			if foreign, _ := found(add(name, "\n")); !slices.Equal(foreign, []string{name}) {
				t.Errorf("%s is changed: %s", name, foreign)
			}
		}
		if foreign, _ := found(func(path string) {
			edit(t, path, func(m map[string]any) { conv(m)["math_auto"] = "'fp32' if n > 1 else 'fp32'" })
		}); !slices.Contains(foreign, "python/layers/formulas.py") {
			t.Errorf("another manifest: %s", foreign)
		}
		kept := maps.Clone(operators)
		clear(operators)
		_, unknown := found(add("python/layers/functions.py", "\n"))
		if want := "python/layers/functions.json python/layers/functions.py python/layers/max_pool2d_gradients.py"; strings.Join(unknown, " ") != want {
			t.Errorf("without the operator: %s", unknown)
		}
		operators = kept
	}
}
