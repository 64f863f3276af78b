package testcache

import (
	"os"
	"path/filepath"
	"testing"

	"autotune/internal/test/must"
)

// A change to the code that compiles kernels selects another cache folder; a change to a test does not.
func TestSources(t *testing.T) {
	root := moduleRoot()
	if len(sources(root)) < 10_000 {
		t.Fatalf("the sources in %q have %d bytes", root, len(sources(root)))
	}
	copied := t.TempDir()
	for _, maker := range makers {
		must.OK(t, os.CopyFS(filepath.Join(copied, maker), os.DirFS(filepath.Join(root, maker))))
	}
	before := digest(sources(copied))
	if before != digest(sources(root)) {
		t.Error("a copy of the sources is another")
	}
	for name, same := range map[string]bool{"more_test.go": true, "more.go": false} {
		added := filepath.Join(copied, makers[1], name)
		must.OK(t, os.WriteFile(added, []byte("package compile\n"), 0o644))
		if (digest(sources(copied)) == before) != same {
			t.Errorf("after %s was added: the same %v, want %v", name, !same, same)
		}
		must.OK(t, os.Remove(added))
	}
}

func TestDir(t *testing.T) {
	if info, err := os.Stat(Dir()); err != nil || !info.IsDir() {
		t.Errorf("%s: %v", Dir(), err)
	}
	if rel, err := filepath.Rel(moduleRoot(), Dir()); err == nil && filepath.IsLocal(rel) {
		t.Errorf("%s is within the module", Dir())
	}
}
