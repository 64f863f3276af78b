package draft

import (
	"regexp"
	"strconv"
	"strings"

	"autotune/internal/cudafile"
	"autotune/operator"
	"autotune/space/expr"
)

// Source is a file as the preprocessor leaves it, as far as this can be said without a compiler. Macros are not put in
// place.
type Source struct {
	Macros map[string]string // that take no arguments
	active string            // the code that conditions leave
}

var (
	conditionForm = regexp.MustCompile(`^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif|define|undef)\b[ \t]*(.*)`)
	definedForm   = regexp.MustCompile(`\bdefined\s*\(?\s*(\w+)\s*\)?`)
	bodyForm      = regexp.MustCompile(`^(\w+)(?:[ \t]+(.*))?$`)
	foreignNot    = regexp.MustCompile(`!([^=]|$)`)
)

// SourceOf reads a file.
func SourceOf(text string) Source {
	s := Source{Macros: map[string]string{}}
	var active strings.Builder
	type branch struct{ within, on, done bool } // whether the code around it is compiled; the present branch; an earlier branch of the #if
	var open []branch
	text = strings.ReplaceAll(cudafile.Blank(text), "\\\n", "  ")
	for line := range strings.Lines(text) {
		off := len(open) > 0 && !open[len(open)-1].on
		m := conditionForm.FindStringSubmatch(strings.TrimRight(line, " \t\r\n"))
		last := len(open) - 1
		switch {
		case m == nil && !off && !strings.HasPrefix(strings.TrimSpace(line), "#"):
			active.WriteString(line)
		case m == nil:
		case strings.HasPrefix(m[1], "if"):
			on := !off && s.holds(m[1], m[2])
			open = append(open, branch{!off, on, on})
		case m[1] == "endif" && last >= 0:
			open = open[:last]
		case (m[1] == "elif" || m[1] == "else") && last >= 0:
			on := open[last].within && !open[last].done && (m[1] == "else" || s.holds("if", m[2]))
			open[last].on, open[last].done = on, on || open[last].done
		case off:
		case m[1] == "define":
			if body := bodyForm.FindStringSubmatch(m[2]); body != nil {
				s.Macros[body[1]] = strings.TrimSpace(body[2])
			}
		case m[1] == "undef":
			delete(s.Macros, strings.TrimSpace(m[2]))
		}
	}
	s.active = active.String()
	return s
}

// holds tells whether a condition does. Names that mean nothing are 0, as for the
// preprocessor; what cannot be read does not hold.
func (s Source) holds(kind, condition string) bool {
	if kind != "if" {
		_, has := s.Macros[strings.TrimSpace(condition)]
		return has == (kind == "ifdef")
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
		return false
	}
	values := map[string]expr.Value{}
	for _, name := range e.Names() {
		values[name] = expr.Int(s.Number(name))
	}
	v, err := e.Eval(values)
	return err == nil && v.Truth()
}

// Number is the whole number that a macro stands for, 0 if it stands for none.
func (s Source) Number(name string) int64 {
	for range mostAliases {
		if n, err := strconv.ParseInt(name, 0, 64); err == nil {
			return n
		}
		name = strings.Trim(s.Macros[name], "() ")
	}
	return 0
}

// mostAliases is how many names a type or a number may go by, one for the other.
const mostAliases = 8

var (
	typedefForm = regexp.MustCompile(`\btypedef\s+(?:const\s+)?([\w ]+?)\s+(\w+)\s*;`)
	usingForm   = regexp.MustCompile(`\busing\s+(\w+)\s*=\s*([\w: ]+?)\s*;`)
	lanesForm   = regexp.MustCompile(`^(?:u?(?:char|short|int|longlong|float|double)|(?:__)?half|(?:__)?nv_bfloat16)([1-4])$`)
)

// Type is the type of the elements that a name of the file is made of, and how many of them: a float4 is four.
func (s Source) Type(name string) (t operator.Type, lanes int64, ok bool) {
	for range mostAliases {
		if element := cudafile.Element(name); element != "" {
			for _, known := range operator.Types() {
				if t = operator.Type(known); t.CUDA() == element {
					lanes = 1
					if m := lanesForm.FindStringSubmatch(name); m != nil {
						lanes, _ = strconv.ParseInt(m[1], 10, 64)
					}
					return t, lanes, true
				}
			}
			return "", 0, false
		}
		if name = s.alias(name); name == "" {
			break
		}
	}
	return "", 0, false
}

// alias is what a type's name stands for.
func (s Source) alias(name string) string {
	if text, ok := s.Macros[name]; ok {
		return strings.TrimSpace(text)
	}
	for _, m := range typedefForm.FindAllStringSubmatch(s.active, -1) {
		if m[2] == name {
			return m[1]
		}
	}
	for _, m := range usingForm.FindAllStringSubmatch(s.active, -1) {
		if m[1] == name {
			return m[2]
		}
	}
	return ""
}
