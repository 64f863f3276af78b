package draft

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/cudafile"
)

var tokenForm = regexp.MustCompile(`[A-Za-z_]\w*|\.?\d[\w.]*|::|->|[-+*/%&|^<>=!]=|&&|\|\||\S`)

// keywords lists words that cannot name a macro or tensor; control lists the keywords that can precede an expression.
var keywords, control = wordSet(`alignas alignof asm auto bool break case catch char class const const_cast constexpr
	continue decltype default delete do double dynamic_cast else enum explicit extern false float for friend goto if
	inline int long mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast
	restrict return short signed sizeof static static_assert static_cast struct switch template this throw true try
	typedef typename union unsigned using virtual void volatile while NULL threadIdx blockIdx blockDim gridDim warpSize
	dim3 uint ushort uchar ulong ptrdiff_t std size_t cudaStream_t cudaError_t cudaTextureObject_t INFINITY NAN
	HUGE_VALF HUGE_VAL RAND_MAX EOF`),
	wordSet(`return else case goto delete throw new sizeof if while do for switch break continue`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// constantForm matches names of constants that CUDA's headers define.
var constantForm = regexp.MustCompile(`^(?:__|CUDART_|FLT_|DBL_|INT_|UINT_|LONG_|LLONG_|CHAR_|M_|cuda[A-Z])`)

func isWord(token string) bool {
	c := token[0]
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

var (
	enumForm   = regexp.MustCompile(`\benum\b[^{};]*\{([^}]*)\}`)
	anglesForm = regexp.MustCompile(`\b\w+\s*<[\w\s,:*&]*>`) // a template with its arguments
	assigning  = []string{"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="}
)

// declared returns the variables and the types that code declares. A name counts as a variable if it follows a type, if
// it is assigned to, or if its address is passed, since only variables allow that.
func declared(code string) (names, types map[string]bool) {
	names, types = map[string]bool{}, map[string]bool{}
	for _, m := range enumForm.FindAllStringSubmatch(code, -1) {
		maps.Copy(names, cudafile.Words(m[1]))
	}
	for range 2 { // template arguments may be nested once
		code = anglesForm.ReplaceAllStringFunc(code, func(found string) string {
			if strings.HasPrefix(found, "template") {
				return found // these are template parameters
			}
			return wordForm.FindString(found) + " "
		})
	}
	t := tokens(tokenForm.FindAllString(code, -1))
	pointers := map[int]int{} // names after TYPE * or TYPE &, perhaps products, and the type's index
	var bodies []bool         // whether each open brace begins a function
	for i, token := range t {
		switch {
		case token == "{":
			bodies = append(bodies, t.at(i-1) == ")" || t.at(i-1) == "const")
		case token == "}":
			bodies = bodies[:max(0, len(bodies)-1)]
		}
		if !isWord(token) || keywords[token] {
			continue
		}
		before, after := t.at(i-1), t.at(i+1)
		first := i - 1
		for t.at(first) == "*" || t.at(first) == "&" {
			first--
		}
		start := t.at(first - 1)
		switch {
		case slices.Contains([]string{"typename", "class", "struct", "union", "enum"}, before):
			types[token] = true
		case isWord(before) && !control[before] && !isWord(after) && after != "*" && after != "&":
			names[token], types[before] = true, true
		case slices.Contains(assigning, after),
			before == "&" && (t.at(i-2) == "(" || t.at(i-2) == ","),
			t.at(first) == "," && (after == ";" || after == "["):
			names[token] = true
		case first < i-1 && isWord(t.at(first)) && (strings.Contains("; { }", start) || isWord(start) && !control[start] ||
			!slices.Contains(bodies, true) && strings.Contains("( ,", start)):
			pointers[i] = first
		}
	}
	for _, m := range aliasForm.FindAllStringSubmatch(code, -1) {
		delete(names, m[2]+m[3])
		types[m[2]+m[3]] = true
	}
	for i, at := range pointers {
		if !names[t[at]] {
			names[t[i]], types[t[at]] = true, true
		}
	}
	return names, types
}

type tokens []string

// at returns the token with a given index, or a semicolon if the index is out of range.
func (t tokens) at(i int) string {
	if i < 0 || i >= len(t) {
		return ";"
	}
	return t[i]
}

var (
	unrollForm = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*pragma[ \t]+unroll[ \t(]+([A-Za-z_]\w*)`)
	anyDefine  = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)
	ownInclude = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*"`)
)

// Undefined returns the names that the file's code uses as numbers but does not define: macros that a tuner should
// define. Undefined leaves out names that may be types, functions or members. For a file that includes others,
// Undefined returns nil, since those files may define the names.
func (s Source) Undefined(text string) []string {
	if ownInclude.MatchString(cudafile.Blank(text)) {
		return nil
	}
	blank, code, words := cudafile.Blank(text), s.active, cudafile.Words(s.active)
	macros := slices.Sorted(maps.Keys(s.Macros))
	for used := -1; used != len(words); {
		used = len(words)
		macros = slices.DeleteFunc(macros, func(name string) bool {
			if words[name] { // a used macro uses the names in its value
				code += ";" + s.Macros[name]
				maps.Copy(words, cudafile.Words(s.Macros[name]))
			}
			return words[name]
		})
	}
	known, types := declared(code)
	maps.Copy(known, types)
	for _, m := range anyDefine.FindAllStringSubmatch(blank, -1) {
		known[m[1]] = true
	}
	var names []string
	t := tokens(tokenForm.FindAllString(code, -1))
	for i, token := range t {
		if isWord(token) && t.number(i) {
			names = append(names, token)
		}
	}
	for _, m := range unrollForm.FindAllStringSubmatch(blank, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		element, _ := cudafile.Element(name)
		return keywords[name] || known[name] || constantForm.MatchString(name) || element != ""
	})
}

// number reports whether the token at index i stands where C++ code needs a number.
func (t tokens) number(i int) bool {
	before, after, back := t.at(i-1), t.at(i+1), t.at(i-2)
	switch {
	case slices.Contains([]string{".", "->", "::", `"`}, before), slices.Contains([]string{"(", "::", "{", "[", `"`}, after):
		return false
	case isWord(after), isWord(before) && !slices.Contains([]string{"return", "case", "else"}, before):
		return false
	case before == "(" && (after == ")" || after == "*" && t.at(i+2) == ")") && !isWord(back), back == "sizeof":
		return false // such a name is a type in a cast
	}
	return before != "<" || !strings.HasSuffix(back, "_cast") && after != "*"
}
