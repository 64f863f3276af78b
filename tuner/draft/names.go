package draft

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/cudafile"
)

var tokenForm = regexp.MustCompile(`[A-Za-z_]\w*|\.?\d[\w.]*|::|->|[-+*/%&|^<>=!]=|&&|\|\||\S`)

// keywords cannot be names of anything, and no declaration begins with a control one.
var keywords, control = wordSet(`alignas alignof asm auto bool break case catch char class const const_cast constexpr continue decltype default
	delete do double dynamic_cast else enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept nullptr
	operator private protected public register reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct switch
	template this throw true try typedef typename union unsigned using virtual void volatile while NULL threadIdx blockIdx blockDim gridDim warpSize
	dim3 uint ushort uchar ulong ptrdiff_t std size_t cudaStream_t cudaError_t cudaTextureObject_t INFINITY NAN HUGE_VALF HUGE_VAL RAND_MAX EOF`),
	wordSet(`return else case goto delete throw new sizeof if while do for switch break continue using namespace template typedef enum`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(text) {
		set[word] = true
	}
	return set
}

// constantForm are names that CUDA's headers define.
var constantForm = regexp.MustCompile(`^(?:__|CUDART_|FLT_|DBL_|INT_|UINT_|LONG_|LLONG_|CHAR_|M_|cuda[A-Z])`)

func isWord(token string) bool {
	c := token[0]
	return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// reading goes over the tokens of code.
type reading struct {
	tokens   []string
	declared map[string]bool
	types    map[int]bool // tokens that name a type
}

// arrayForm is the name of a pointer or a reference to an array: T (&rows)[4].
var arrayForm = regexp.MustCompile(`\w\s*\(\s*[&*]\s*(\w+)\s*\)\s*\[`)

// read finds what code declares. It looks for declarations where a statement, a parameter
// or a template's parameter begins.
func read(code string) reading {
	r := reading{tokenForm.FindAllString(code, -1), map[string]bool{}, map[int]bool{}}
	for _, m := range arrayForm.FindAllStringSubmatch(code, -1) {
		r.declared[m[1]] = true
	}
	var brackets []byte // that are open: { of a function's body is B; ( of its head is H; < of a template is T
	starts := true
	for i, token := range r.tokens {
		if starts && isWord(token) && !control[token] {
			r.declaration(i)
		}
		starts = false
		inBody, last := slices.Contains(brackets, 'B'), byte(0)
		if len(brackets) > 0 {
			last = brackets[len(brackets)-1]
		}
		before := ""
		if i > 0 {
			before = r.tokens[i-1]
		}
		switch token {
		case "{":
			kind := byte('{')
			if before == ")" || before == "const" {
				kind = 'B'
			}
			brackets, starts = append(brackets, kind), true
			if i > 1 && (before == "enum" || r.tokens[i-2] == "enum" || i > 2 && r.tokens[i-3] == "enum") {
				r.enumeration(i)
			}
		case "(":
			kind := byte('(')
			if before == "for" || !inBody && before != "" && isWord(before) && !strings.HasPrefix(before, "__") {
				kind, starts = 'H', true
			}
			brackets = append(brackets, kind)
		case "<":
			if before == "template" {
				brackets, starts = append(brackets, 'T'), true
			}
		case ",":
			starts = last == 'T' || last == 'H' && !inBody
		case ";":
			starts = true
		case ">":
			if starts = last == 'T'; starts {
				brackets = brackets[:len(brackets)-1]
			}
		case "}", ")":
			brackets = brackets[:max(0, len(brackets)-1)]
			starts = token == "}"
		case "typedef", "struct":
			starts = true
		}
	}
	return r
}

// declaration reads TYPE NAME at a place, and further names after commas.
func (r reading) declaration(i int) {
	var words []int
	j := i
	for ; j < len(r.tokens); j++ {
		token := r.tokens[j]
		if token == "<" && len(words) > 0 {
			end := slices.Index(r.tokens[j:min(len(r.tokens), j+64)], ">")
			if end < 0 || slices.ContainsFunc(r.tokens[j:j+end], func(t string) bool { return t == ";" || t == "{" || t == "&&" }) {
				return
			}
			j += end
			continue
		}
		if !isWord(token) && token != "*" && token != "&" && token != "::" && token != `"` {
			break
		}
		if isWord(token) {
			words = append(words, j)
		}
	}
	if len(words) < 2 || j >= len(r.tokens) || words[len(words)-1] != j-1 || !slices.Contains([]string{"=", ";", ",", "(", "[", ":", ")", "{", ">"}, r.tokens[j]) {
		return
	}
	for _, at := range words[:len(words)-1] {
		r.types[at] = true
	}
	r.declared[r.tokens[j-1]] = true
	depth := 0
	for ; j < len(r.tokens) && depth >= 0; j++ {
		switch r.tokens[j] {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ";":
			return
		case ",":
			next := j + 1
			for next < len(r.tokens) && r.tokens[next] == "*" {
				next++
			}
			if depth == 0 && next+1 < len(r.tokens) && isWord(r.tokens[next]) && slices.Contains([]string{"=", ";", ",", "["}, r.tokens[next+1]) {
				r.declared[r.tokens[next]] = true
			}
		}
	}
}

func (r reading) enumeration(i int) {
	for ; i < len(r.tokens) && r.tokens[i] != "}"; i++ {
		if isWord(r.tokens[i]) {
			r.declared[r.tokens[i]] = true
		}
	}
}

var unrollForm = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*pragma[ \t]+unroll[ \t(]+([A-Za-z_]\w*)`)

var anyDefine = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(\w+)`)

// Undefined lists the names that the files' code uses as numbers and that nothing defines: macros that a tuner is to
// define. What may be a type, a function or a member is not among them.
func (s Source) Undefined(text string) []string {
	if slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		m := includeForm.FindStringSubmatch(line)
		return m != nil && m[1][0] == '"' // which may define anything
	}) {
		return nil
	}
	code, words := s.active, cudafile.Words(s.active)
	macros := slices.Sorted(maps.Keys(s.Macros))
	for used := -1; used != len(words); {
		used = len(words)
		macros = slices.DeleteFunc(macros, func(name string) bool {
			if words[name] { // its names are used, too
				code += ";" + s.Macros[name]
				maps.Copy(words, cudafile.Words(s.Macros[name]))
			}
			return words[name]
		})
	}
	r := read(code)
	var names []string
	for i, token := range r.tokens {
		if isWord(token) && r.number(i) {
			names = append(names, token)
		}
	}
	for _, m := range unrollForm.FindAllStringSubmatch(cudafile.Blank(text), -1) {
		names = append(names, m[1])
	}
	for _, m := range anyDefine.FindAllStringSubmatch(cudafile.Blank(text), -1) {
		r.declared[m[1]] = true
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		_, macro := s.Macros[name]
		return macro || keywords[name] || r.declared[name] || constantForm.MatchString(name) || cudafile.Element(name) != ""
	})
}

// number tells whether the word at a place stands where a number does.
func (r reading) number(i int) bool {
	at := func(i int) string {
		if i < 0 || i >= len(r.tokens) {
			return ";"
		}
		return r.tokens[i]
	}
	before, after := at(i-1), at(i+1)
	switch {
	case r.types[i], slices.Contains([]string{".", "->", "::", "struct", "class", "typename", "namespace", "goto", "using"}, before):
		return false
	case after == "(", after == "::", after == "{", isWord(after), after == `"`, before == `"`:
		return false
	case before == "(" && (after == ")" || after == "*") && !isWord(at(i-2)), at(i-2) == "sizeof":
		return false // a cast
	case before == "<" && (strings.HasSuffix(at(i-2), "_cast") || after == "*"):
		return false
	case isWord(before) && before != "return" && before != "case" && before != "else":
		return false
	}
	return true
}
