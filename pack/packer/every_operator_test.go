package packer

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	own "autotune/examples"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/pack"
	"autotune/tuner/cudasource"
)

// ownOperators returns operators that are not built in: the examples of the repository and those for tests.
func ownOperators(t *testing.T) (all []*operator.Operator) {
	t.Helper()
	for _, pattern := range []string{"*.cu", "*/op.yaml"} {
		files, err := fs.Glob(own.FS, pattern)
		must.OK(t, err)
		for _, file := range files {
			load := func() (*operator.Operator, error) { return operator.LoadFile(own.FS, ".", file) }
			if path.Ext(file) == ".yaml" {
				load = func() (*operator.Operator, error) { return operator.Load(own.FS, path.Dir(file)) }
			}
			op, err := load()
			must.OK(t, err)
			all = append(all, op)
		}
	}
	for _, name := range []string{"both", "scaled"} {
		op, err := operator.Load(os.DirFS("testdata"), name)
		must.OK(t, err)
		op.Example = []int64{64}
		all = append(all, op)
	}
	return all
}

// Every operator's example must run its own kernel from Go, C and Python, whatever its tensors, scalars and words are.
func TestEveryOperatorIsServed(t *testing.T) {
	builtIn, err := operator.Operators()
	must.OK(t, err)
	t.Run("own", func(t *testing.T) { served(t, ownOperators(t)) })
	t.Run("built-in", func(t *testing.T) { served(t, builtIn) })
}

func served(t *testing.T, operators []*operator.Operator) {
	var all []cudasource.Winner
	for _, op := range operators {
		all = append(all, winnerOf(t, op, operator.Request{Shape: op.Example}))
	}
	winnersServed(t, all)
}

// winnersServed packs winners, and checks that every loader launches their kernels.
func winnersServed(t *testing.T, all []cudasource.Winner) {
	p, err := Make(t.Context(), echo{}, all, nil, Options{Name: "layers"})
	must.OK(t, err)
	if got := slices.DeleteFunc(p.Notices, func(n string) bool {
		return strings.Contains(n, " has no general kernel") || strings.Contains(n, "lies in constant memory")
	}); len(got) > 0 {
		t.Errorf("left out: %q", got)
	}
	folder := filepath.Join(t.TempDir(), "layers")
	must.OK(t, p.Write(folder))
	var cases []chosenCase
	for _, w := range all {
		if slices.ContainsFunc(p.Entries, func(e *pack.Entry) bool { return e.Operator == w.Problem.Operator.Name }) {
			cases = append(cases, chosenCase{problem: w.Problem, text: launched(w.Problem, w.Kernel)})
		}
	}
	launches := func(texts []string) []string {
		for i, text := range texts {
			texts[i] = regexp.MustCompile(`(?m)^load .*\n`).ReplaceAllString(text, "")
		}
		return texts
	}
	t.Run("Go", func(t *testing.T) { sameChoices(t, cases, chosenByGo(t, folder, cases)) })
	t.Run("C", func(t *testing.T) { sameChoices(t, cases, launches(answers(printedByC(t, folder, cases)))) })
	t.Run("Python", func(t *testing.T) { sameChoices(t, cases, launches(answers(printedByPython(t, folder, cases)))) })
}
