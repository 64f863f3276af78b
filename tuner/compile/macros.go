package compile

import (
	"regexp"
	"strings"

	"autotune/tuner/operator"
)

// expanded is a macro's name in what a compiler says of an error.
var expanded = regexp.MustCompile(`(?:in expansion of|expanded from) macro ['"‘](\w+)`)

var word = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// NameMacros adds to the message the macros that brought what it complains of, as
// "(KEEP=none)": a configuration's macros stand in no file. words is all that the
// compiler says of the error.
func (e *Error) NameMacros(macros []operator.Macro, words string) {
	named := map[string]bool{}
	for _, m := range expanded.FindAllStringSubmatch(words, -1) {
		named[m[1]] = true
	}
	var given []string
	for _, m := range macros {
		quoted := word.MatchString(m.Value) && (strings.Contains(e.Message, "'"+m.Value+"'") || strings.Contains(e.Message, `"`+m.Value+`"`))
		if named[m.Name] || quoted {
			given = append(given, m.Name+"="+m.Value)
		}
	}
	if len(given) > 0 {
		e.Message += " (" + strings.Join(given, ", ") + ")"
	}
}
