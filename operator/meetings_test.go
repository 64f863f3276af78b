package operator_test

import (
	"fmt"
	"regexp"
	"strings"

	"autotune/operator"
)

// meetings are the traits of problems that templates' files were proven on. Where a file has met all traits
// of a problem, little is left to find: they decide how it packs, rounds, and reads over edges.
type meetings map[string]bool

// more tells whether a problem has a trait that a file has not met, and has it meet all.
func (m meetings) more(file string, traits []string) bool {
	before := len(m)
	for _, trait := range traits {
		m[file+" "+trait] = true
	}
	return len(m) > before
}

// traitsOf are those of a problem that is written as text. Operators of rows share kernels, and what
// inputs they bear is each one's own.
func traitsOf(o *operator.Operator, p *operator.Problem, text string) []string {
	all := append(extents(p), words(p, text)...)
	for i, trait := range all {
		if trait == "negative" || trait == "special" {
			all[i] = o.Name + " " + trait
		}
	}
	return all
}

// extents are the traits of a problem's shape: into which vectors its dimensions go, and which are long.
func extents(p *operator.Problem) []string {
	var all []string
	for i, size := range p.Shape {
		vector := int64(8)
		for size%vector != 0 {
			vector /= 2
		}
		all = append(all, fmt.Sprint("dimension ", i, " by ", vector), fmt.Sprint("dimension ", i, " long ", size > 1024))
	}
	return all
}

var sizes = regexp.MustCompile(`^\d+(x\d+)*$`)

// words are the traits of what is said beside the shape: the math mode, the elements, and the sizes of
// windows by kind: one, even, odd, and different ones for each axis.
func words(p *operator.Problem, text string) []string {
	all := []string{"math " + p.Math}
	for _, field := range strings.Fields(text)[1:] {
		if field == "normal" || field == "uniform01" {
			continue // inputs that every kernel sees
		}
		name, value, _ := strings.Cut(field, "=")
		if first, _, more := strings.Cut(value, "x"); value != "1" && sizes.MatchString(value) {
			field = fmt.Sprint(name, " by axis ", more, ", even ", strings.ContainsAny(first[len(first)-1:], "02468"))
		}
		all = append(all, field)
	}
	return all
}
