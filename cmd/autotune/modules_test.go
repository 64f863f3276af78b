package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
)

// goFile is a Go file of this module with the packages that it imports.
type goFile struct {
	path    string
	folder  string // relative to the repository
	test    bool
	text    string
	imports []string
}

// goFiles returns all Go files of this module, whatever their build tags are.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := filepath.WalkDir(repository, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "build" || d.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, _ := os.ReadFile(path) // an unreadable file has no text to check
		parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(repository, filepath.Dir(path))
		test := strings.HasSuffix(path, "_test.go")
		f := goFile{path: path, folder: filepath.ToSlash(folder), test: test, text: string(text)}
		for _, i := range parsed.Imports {
			f.imports = append(f.imports, strings.Trim(i.Path.Value, `"`))
		}
		files = append(files, f)
		return err
	})
	must.OK(t, err)
	return files
}

var (
	roomForm     = regexp.MustCompile(`(?m)^    (?:  \+-- )?([a-z][a-z0-9_/]*)  `)
	internalForm = regexp.MustCompile("`(internal/(?:test/)?[a-z0-9]+|docs)`")
)

// rooms returns the packages in docs/architecture.md, from the top down, and the packages that every package may
// import.
func rooms(t *testing.T) (listed, servants []string) {
	t.Helper()
	text, _, found := strings.Cut(page(t, "docs/architecture.md"), "A fact has one type")
	if !found {
		t.Fatal("docs/architecture.md has no end of its list of packages")
	}
	for _, match := range roomForm.FindAllStringSubmatch(text, -1) {
		listed = append(listed, match[1])
	}
	for _, match := range internalForm.FindAllStringSubmatch(text, -1) {
		servants = append(servants, match[1])
	}
	return listed, servants
}

func TestDocumentedPackages(t *testing.T) {
	listed, servants := rooms(t)
	var real []string
	for _, f := range goFiles(t) {
		if !slices.Contains(real, f.folder) {
			real = append(real, f.folder)
		}
	}
	same(t, "docs/architecture.md", append(listed, servants...), real)
}

// A package may import only packages that are below it in the list of docs/architecture.md. Packages for tests may
// import every package.
func TestImportsRunDownwards(t *testing.T) {
	listed, servants := rooms(t)
	for _, f := range goFiles(t) {
		if f.test || strings.HasPrefix(f.folder, "internal/test/") {
			continue
		}
		from := slices.Index(listed, f.folder)
		for _, path := range f.imports {
			name, ours := strings.CutPrefix(path, "autotune/")
			if !ours || slices.Contains(servants, name) {
				continue
			}
			if to := slices.Index(listed, name); from < 0 || to <= from {
				t.Errorf("%s imports %s, which docs/architecture.md does not have below it", f.folder, name)
			}
		}
	}
}

var directForm = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

// Each direct dependency needs a row in docs/dependencies.md, and the packages named in the row must import it.
func TestDocumentedDependencies(t *testing.T) {
	module := must.Read(t, filepath.Join(repository, "go.mod"))
	var direct []string
	for _, match := range directForm.FindAllStringSubmatch(string(module), -1) {
		direct = append(direct, match[1])
	}
	rows := table(t, "docs/dependencies.md", "module | what it does here")
	same(t, "docs/dependencies.md", column(rows, 0), direct)
	files := goFiles(t)
	for _, row := range rows {
		dependency := codes(row[0])[0]
		for _, folder := range codes(row[1]) {
			if info, err := os.Stat(filepath.Join(repository, folder)); err != nil || !info.IsDir() {
				continue // not a package of ours, but a name from the library
			}
			if !slices.ContainsFunc(files, func(f goFile) bool { return f.folder == folder && f.uses(dependency) }) {
				t.Errorf("docs/dependencies.md: %s does not import %s", folder, dependency)
			}
		}
	}
}

// uses reports whether a file imports a package of the given module.
func (f goFile) uses(module string) bool {
	return slices.ContainsFunc(f.imports, func(path string) bool { return path == module || strings.HasPrefix(path, module+"/") })
}

// No package below cmd may print or exit, except in the files that docs/architecture.md names.
func TestDocumentedPrinters(t *testing.T) {
	printing := regexp.MustCompile(`\b(fmt\.Print|print(ln)?\(|os\.(Exit\(|Stdout|Stderr)|log\.(Print|Fatal|Panic))`)
	var found []string
	for _, f := range goFiles(t) {
		if f.test || strings.HasPrefix(f.folder, "cmd/") {
			continue
		}
		for line := range strings.Lines(f.text) {
			if code, _, _ := strings.Cut(line, "//"); printing.MatchString(code) {
				found = append(found, f.folder+"/"+filepath.Base(f.path))
				break
			}
		}
	}
	same(t, "docs/architecture.md, who prints", column(table(t, "docs/architecture.md", "file | what it does"), 0), found)
}

// A type with too many methods probably has several tasks and should be split.
func TestNoTypeHasManyMethods(t *testing.T) {
	method, counts := regexp.MustCompile(`(?m)^func \((?:\w+ )?\*?(\w+)[^)]*\) \w`), map[string]int{}
	for _, f := range goFiles(t) {
		for _, m := range method.FindAllStringSubmatch(f.text, -1) {
			if name := f.folder + "." + m[1]; !f.test {
				counts[name]++
			}
		}
	}
	for name, n := range counts {
		if n > 25 {
			t.Errorf("%s has %d methods", name, n)
		}
	}
}
