package draft

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"autotune/space/expr"
)

var axes = [3]string{"x", "y", "z"}

// launch takes the block size from __launch_bounds__ or from tunables with usual names, and the grid size from the
// kernel's use of blockIdx.
func (f *fromKernel) launch() {
	f.o.Block, f.o.Grid = [3]string{"256", "1", "1"}, [3]string{"1", "1", "1"}
	bounds, _, _ := strings.Cut(f.kernel.LaunchBounds, ",")
	bounds = wordForm.ReplaceAllStringFunc(strings.TrimSpace(bounds), func(word string) string { return cmp.Or(f.renamed[word], word) })
	if e, err := expr.Parse(bounds); err == nil && !slices.ContainsFunc(e.Names(), func(name string) bool { return !f.has(name) }) {
		f.o.Block[0] = bounds
	} else if bounds == "" {
		f.o.Block[0] = cmp.Or(f.like(blockNames...), f.o.Block[0])
	}
	usual := [3]string{}
	for i, axis := range axes {
		usual[i] = f.like("blocksize"+axis, "block"+axis)
	}
	if usual != [3]string{} {
		f.o.Block = [3]string{cmp.Or(usual[0], "256"), cmp.Or(usual[1], "1"), cmp.Or(usual[2], "1")}
	}
	inBlock := wordForm.FindAllString(strings.Join(f.o.Block[:], " "), -1)
	for i, axis := range axes {
		extent, perThread := f.along(axis)
		divisor := f.o.Block[i]
		for _, name := range perThread {
			if !slices.Contains(inBlock, name) {
				divisor += "*" + name
			}
		}
		named := []string{"numblocks" + axis, "gridsize" + axis}
		if i == 0 {
			named = append(named, "numblocks", "gridsize")
			if extent == "" && f.many() {
				extent = f.size
			}
		}
		if extent != "" {
			f.o.Grid[i] = ceilDiv(extent, strings.TrimPrefix(divisor, "1*"))
		}
		f.o.Grid[i] = cmp.Or(f.like(named...), f.o.Grid[i])
	}
}

var manyForm = regexp.MustCompile(`\bblockIdx\s*(?:[^.\s]|\.\s*x\b)|\bthis_grid\b|\bctaid\b`)

// many reports whether the kernel may use more than one block, as far as its file shows.
func (f *fromKernel) many() bool {
	return strings.Contains(f.text, "#include \"") || manyForm.MatchString(f.source.active)
}

func ceilDiv(a, b string) string {
	if b == "1" {
		return a
	}
	return fmt.Sprintf("ceil_div(%s, %s)", a, b)
}

var (
	statementForm = regexp.MustCompile(`[^;{}]+`)
	assignedForm  = regexp.MustCompile(`(?s)(\w+)\s*=([^=].*)?$`)
	// comparedForm matches a comparison: the expression on the left and the size on the right.
	comparedForm = regexp.MustCompile(`([^;<>=&|(),?{}]*)(?:<|>=)\s*(\w+)`)
)

// mostSteps limits how many assignments a draft follows from blockIdx to an index that is compared with a size.
const mostSteps = 3

// along follows the values that the kernel computes from blockIdx along an axis (x, y or z). The result `extent` is
// the size (a dimension or a number) with which the kernel compares a value computed from blockIdx, and `perThread`
// lists the tunables that occur in the computation of that value.
func (f *fromKernel) along(axis string) (extent string, perThread []string) {
	index := regexp.MustCompile(`\bblockIdx\s*\.\s*` + axis + `\b`)
	statements, follows := statementForm.FindAllString(f.body, -1), map[string]bool{}
	for _, statement := range statements {
		if !index.MatchString(statement) {
			continue
		}
		for _, word := range wordForm.FindAllString(statement, -1) {
			word = cmp.Or(f.renamed[word], word)
			if f.has(word) && !slices.Contains(perThread, word) {
				perThread = append(perThread, word)
			}
		}
	}
	for range mostSteps {
		for _, statement := range statements {
			m := assignedForm.FindStringSubmatch(statement)
			if m != nil && (index.MatchString(m[2]) || mentions(m[2], follows)) {
				follows[m[1]] = true
			}
		}
	}
	for _, m := range comparedForm.FindAllStringSubmatch(f.body, -1) {
		if !mentions(m[1], follows) {
			continue
		}
		if size := f.sizeOf[m[2]]; size != "" {
			return size, perThread
		}
		if n := f.source.Number(m[2]); n > 1 && !f.has(m[2]) {
			return strconv.FormatInt(n, 10), perThread
		}
	}
	f.o.Unguarded = f.o.Unguarded || len(follows) > 0
	return "", perThread
}

func mentions(text string, names map[string]bool) bool {
	return slices.ContainsFunc(wordForm.FindAllString(text, -1), func(word string) bool { return names[word] })
}
