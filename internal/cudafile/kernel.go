package cudafile

import (
	"regexp"
	"slices"
	"strings"
)

// Kernel is a __global__ function that a file defines.
type Kernel struct {
	Name         string
	Template     []Parameter // nil: it is no template
	Parameters   []Parameter
	LaunchBounds string // the arguments of __launch_bounds__; "" if the kernel has none
	Unclear      bool   // preprocessor conditions choose the parameters
	Place

	Body     string // without comments and directives
	from, to int    // the range of its definition in the file
}

// Parameter is a parameter of a kernel, or of a template.
type Parameter struct {
	Name    string // "": it has none
	Type    string // without const, and what is pointed to: "unsigned char"
	Pointer bool
	Const   bool // the number is constant, or the value that the pointer points to
	Alone   bool // __restrict__: nothing else points there
	Unclear bool // it is neither a number nor a pointer to something
	Place
}

var globalForm = regexp.MustCompile(`\b__global__\b`)

// mostKernels limits how many kernels of a file the function Kernels lists, since it scans the file once for each
// kernel. Real CUDA files define far fewer kernels.
const mostKernels = 256

// Kernels lists the first 256 kernels that a file defines.
func Kernels(text string) []Kernel {
	blank := Code(text)
	var kernels []Kernel
	for _, at := range globalForm.FindAllStringIndex(blank, mostKernels) {
		again := func(k Kernel) bool { return len(kernels) > 0 && kernels[len(kernels)-1].Place == k.Place } // __global__ stands there twice
		if k, ok := kernelAt(text, blank, at[0], at[1]); ok && !again(k) {
			kernels = append(kernels, k)
		}
	}
	return kernels
}

var (
	callForm     = regexp.MustCompile(`([A-Za-z_]\w*)\s*\(`)
	templateForm = regexp.MustCompile(`(?s)\btemplate\s*<(.*)>[^<>]*$`)
)

func kernelAt(text, blank string, start, end int) (k Kernel, ok bool) {
	for {
		m := callForm.FindStringSubmatchIndex(blank[end:])
		if m == nil || strings.ContainsAny(blank[end:end+m[0]], ";{}") {
			return k, false
		}
		name, open := blank[end+m[2]:end+m[3]], end+m[1]
		close := closing(blank, open, '(', ')')
		if close < 0 {
			return k, false
		}
		if !strings.HasPrefix(name, "__") {
			k.Name, k.Place = name, placeOf(text, end+m[2])
			k.Parameters = parameters(text, blank, open, close)
			k.Unclear = directive.MatchString(Blank(text[open:close]))
			end = close + 1
			break
		}
		if name == "__launch_bounds__" {
			k.LaunchBounds = strings.TrimSpace(text[open:close])
		}
		end = close + 1
	}
	if k.Body = strings.TrimLeft(blank[end:], " \t\r\n"); !strings.HasPrefix(k.Body, "{") {
		return k, false // a declaration
	}
	k.to = len(blank)
	if close := closing(k.Body, 1, '{', '}'); close >= 0 {
		k.to -= len(k.Body) - close - 1
		k.Body = k.Body[:close]
	}
	head := 1 + strings.LastIndexAny(blank[:start], ";{}")
	k.from = start - len(strings.TrimLeft(blank[head:start], " \t\r\n"))
	if m := templateForm.FindStringSubmatchIndex(blank[head:start]); m != nil {
		k.Template = parameters(text, blank, head+m[2], head+m[3])
	}
	return k, true
}

// closing returns the position of the bracket that closes a bracket which was opened before start, or -1.
func closing(blank string, start int, opens, closes byte) int {
	depth := 1
	for i := start; i < len(blank); i++ {
		switch blank[i] {
		case opens:
			depth++
		case closes:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func parameters(text, blank string, start, end int) []Parameter {
	list := []Parameter{}
	depth := 0
	for i := start; i <= end; i++ {
		switch {
		case i == end || blank[i] == ',' && depth == 0:
			if strings.TrimSpace(blank[start:i]) != "" {
				list = append(list, parameter(text, blank, start, i))
			}
			start = i + 1
		case strings.IndexByte("([{<", blank[i]) >= 0:
			depth++
		case strings.IndexByte(")]}>", blank[i]) >= 0:
			depth--
		}
	}
	if len(list) == 1 && list[0].Type == "void" && !list[0].Pointer {
		return []Parameter{}
	}
	return list
}

// qualifiers are words of a declaration that do not change a parameter's type.
var qualifiers = []string{"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "constexpr"}

// more is the end of the name of a macro that adds an epilogue's parameters behind a kernel's last parameter.
const more = "EPILOGUE_PARAMETERS"

var partForm = regexp.MustCompile(`[A-Za-z_]\w*(?:\s*::\s*\w+)*|\S`)

func parameter(text, blank string, start, end int) Parameter {
	declared, _, _ := strings.Cut(blank[start:end], "=")
	var p Parameter
	var words []string
	at := start
	stars := 0
	for _, m := range partForm.FindAllStringIndex(declared, -1) {
		part := declared[m[0]:m[1]]
		switch {
		case slices.Contains(qualifiers, part):
			p.Const = p.Const || part == "const" && stars == 0
			p.Alone = p.Alone || strings.Contains(part, "restrict")
		case part == "*":
			stars++
		case part == "[":
			p.Unclear = p.Unclear || stars > 0
			stars = max(stars, 1)
		case part == "]":
		case part[0] >= '0' && part[0] <= '9':
		case !wordForm.MatchString(part):
			p.Unclear = true
		case strings.HasSuffix(part, more):
		default:
			words, at = append(words, part), start+m[0]
		}
	}
	if n := len(words); n > 1 && !integerWord(words[n-1]) {
		p.Name, words = words[n-1], words[:n-1]
	}
	p.Type, p.Pointer, p.Place = strings.Join(words, " "), stars > 0, placeOf(text, at)
	p.Unclear = p.Unclear || stars > 1 || p.Type == ""
	return p
}
