package draft

import (
	"regexp"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
	"autotune/operator"
	"autotune/space/expr"
)

// Source is a CUDA file after its preprocessor conditions have been applied, as far as they can be decided without a
// compiler. Macros are not expanded.
type Source struct {
	Macros map[string]string // macros without arguments, with their values
	active string            // the code that the conditions leave
}

var (
	setForm     = regexp.MustCompile(`^\s*#[ \t]*(define|undef)[ \t]+(\w+)(?:[ \t]+(.*))?$`)
	definedForm = regexp.MustCompile(`\bdefined\s*\(?\s*(\w+)\s*\)?`)
	foreignNot  = regexp.MustCompile(`!([^=]|$)`)
)

// SourceOf applies the preprocessor's conditions and definitions to a file.
func SourceOf(text string) Source {
	s := Source{Macros: map[string]string{}}
	var active strings.Builder
	text = strings.ReplaceAll(cudafile.Blank(text), "\\\n", "  ")
	for line, out := range cudafile.Branches(text, s.holds) {
		m := setForm.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		switch {
		case out:
		case m != nil && m[1] == "define":
			s.Macros[m[2]] = strings.TrimSpace(m[3])
		case m != nil:
			delete(s.Macros, m[2])
		case !strings.HasPrefix(strings.TrimSpace(line), "#"):
			active.WriteString(line)
		}
	}
	s.active = active.String()
	return s
}

// holds reports whether a preprocessor condition is true with the macros of the file. As in the preprocessor, an
// unknown name in a condition is 0; a condition that cannot be parsed counts as false.
func (s Source) holds(word, condition string) (yes, known bool) {
	if word == "ifdef" || word == "ifndef" {
		_, has := s.Macros[condition]
		return has == (word == "ifdef"), true
	}
	condition = definedForm.ReplaceAllStringFunc(condition, func(found string) string {
		if _, has := s.Macros[definedForm.FindStringSubmatch(found)[1]]; has {
			return "1"
		}
		return "0"
	})
	condition = foreignNot.ReplaceAllString(condition, " not $1")
	e, err := expr.Parse(strings.NewReplacer("&&", " and ", "||", " or ").Replace(condition))
	if err != nil {
		return false, true
	}
	values := map[string]expr.Value{}
	for _, name := range e.Names() {
		values[name] = expr.Int(s.Number(name))
	}
	v, err := e.Eval(values)
	return err == nil && v.Truth(), true
}

// Number returns the integer value of a macro, or 0 if the value is not an integer.
func (s Source) Number(name string) int64 {
	for range mostAliases {
		if n, err := strconv.ParseInt(name, 0, 64); err == nil {
			return n
		}
		name = strings.Trim(s.Macros[name], "() ")
	}
	return 0
}

// mostAliases limits how many aliases are followed from a type or macro to its definition.
const mostAliases = 8

// aliasForm matches `typedef TYPE NAME;` and `using NAME = TYPE;`.
var aliasForm = regexp.MustCompile(
	`\b(?:typedef\s+(?:const\s+)?([\w ]+?)\s+(\w+)|using\s+(\w+)\s*=\s*([\w: ]+?))\s*;`)

// Type returns the element type and the number of elements of a type that the file uses: a float4 has four floats.
func (s Source) Type(name string) (t operator.Type, lanes int64, ok bool) {
	for range mostAliases {
		element, lanes := cudafile.Element(name)
		for _, known := range operator.Types() {
			if t = operator.Type(known); t.CUDA() == element {
				return t, lanes, true
			}
		}
		if name = s.alias(name); element != "" || name == "" {
			break
		}
	}
	return "", 0, false
}

// alias returns the text that a typedef, using or macro defines for a type's name, or "".
func (s Source) alias(name string) string {
	if text, ok := s.Macros[name]; ok {
		return strings.TrimSpace(text)
	}
	for _, m := range aliasForm.FindAllStringSubmatch(s.active, -1) {
		if m[2]+m[3] == name {
			return m[1] + m[4]
		}
	}
	return ""
}
