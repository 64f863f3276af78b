package draft

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"autotune/device/compile"
	"autotune/internal/cudafile"
)

// chunk is a piece of a file: a preprocessor line, or a declaration with the comment before it.
type chunk struct {
	text, code string
	names      []string // names that it declares; nil if it must stay in any case
	included   string   // by #include, as it is written; "": nothing
	kernel     bool
	host       bool // a function for the CPU
}

var (
	includeForm   = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]*([<"][^>"]*[>"])`)
	openingForm   = regexp.MustCompile(`^\s*(?:extern\s+" "|namespace(?:\s+\w+)?)\s*\{$`)
	deviceForm    = regexp.MustCompile(`\b(?:__device__|__global__|constexpr)\b`)
	functionForm  = regexp.MustCompile(`(\boperator\s*[^\s\w(]+|\b[A-Za-z_]\w*)\s*\(`)
	attributeForm = regexp.MustCompile(`\b__(?:attribute|launch_bounds|align)__\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)`)
	namedForm     = regexp.MustCompile(`\b(?:struct|class|union|enum(?:\s+class)?|using|namespace)\s+(?:__align__\s*\(\s*\w+\s*\)\s*)?(\w+)`)
	lastWordForm  = regexp.MustCompile(`(\w+)\s*;\s*$`)
	hostCUBForm   = regexp.MustCompile(`\bcub\s*::\s*Device\w+`)
	qualifierForm = regexp.MustCompile(`\b(\w+)\s*::`)
)

// providedHeaders lists the CUDA headers that kernels may include.
var providedHeaders = []string{"<cuda_fp16.h>", "<cuda_bf16.h>", "<cuda_fp8.h>", "<cooperative_groups.h>", "<cooperative_groups/reduce.h>", "<mma.h>"}

func provided(included string) bool {
	return slices.Contains(providedHeaders, included) || strings.HasPrefix(included, "<") && compile.IsGPUHeader(inner(included))
}

func inner(included string) string { return strings.Trim(included, `<>"`) }

// Cut reduces a file to the code that its kernel needs. Cut returns the names of the removed parts: headers that
// kernels cannot include, host code, other kernels, and code that only they use. The function `has` reports whether a
// file with a given name lies beside the kernel's file. If nothing needs to be removed, Cut returns the text unchanged.
func Cut(text, kernel string, has func(name string) bool) (kept string, left []string, err error) {
	chunks := chunksOf(text)
	words := map[string]bool{kernel: true}
	keep := make([]bool, len(chunks))
	for again := true; again; {
		again = false
		for i, c := range chunks {
			stays := c.included == "" && !c.host && (c.names == nil || slices.ContainsFunc(c.names, func(name string) bool { return words[name] })) &&
				(!c.kernel || c.names[0] == kernel)
			if keep[i] || !stays {
				continue
			}
			if m := defineForm.FindStringSubmatch(c.code); m != nil && !words[m[1]] {
				continue // a macro stays; its words count once the macro is used
			}
			keep[i], again = true, true
			for word := range cudafile.Words(c.code) {
				words[word] = true
			}
		}
	}
	var b strings.Builder
	for i, c := range chunks {
		missing := c.included != "" && c.included[0] == '"' && !has(inner(c.included))
		switch {
		case keep[i], c.names == nil && c.included == "", c.included != "" && !missing && c.included[0] == '"', provided(c.included):
			b.WriteString(c.text)
		case c.included != "":
			left = append(left, c.included)
		default:
			if name := c.names[0]; !slices.Contains(left, name) {
				left = append(left, name)
			}
		}
	}
	kept = strings.TrimLeft(b.String(), "\n")
	code := cudafile.Code(kept)
	if m := hostCUBForm.FindString(code); m != "" {
		return "", nil, fmt.Errorf("%s is called by programs on the host, and no kernel can: name a kernel that uses CUB's blocks or warps", m)
	}
	if len(left) == 0 {
		return text, nil, nil
	}
	known, _ := declared(code)
	for _, m := range namedForm.FindAllStringSubmatch(code, -1) {
		known[m[1]] = true
	}
	spaces := []string{"cooperative_groups", "nvcuda", "wmma", "cuda"}
	if strings.Contains(kept, "<cub/") {
		spaces = append(spaces, "cub")
	}
	for _, m := range qualifierForm.FindAllStringSubmatch(code, -1) {
		if name := m[1]; !known[name] && !slices.Contains(spaces, name) && !keywords[name] || name == "std" && !strings.Contains(code, "cuda::std::") {
			return "", nil, fmt.Errorf("the kernel %s uses %s::, of a header that kernels cannot include: write that part without it", kernel, name)
		}
	}
	return kept, left, nil
}

var defineForm = regexp.MustCompile(`^\s*#[ \t]*define[ \t]+(\w+)`)

func chunksOf(text string) []chunk {
	code, blank := cudafile.Code(text), cudafile.Blank(text)
	var chunks []chunk
	start := 0
	add := func(end int, code string) {
		if strings.TrimSpace(code) != "" {
			chunks = append(chunks, chunkOf(text[start:end], code))
			start = end
		}
	}
	round, curly, function := 0, 0, false
	for i := 0; i < len(code); i++ {
		here := code[start : i+1]
		switch c := code[i]; {
		case blank[i] == '#' && c == ' ' && round == 0 && curly == 0 && strings.TrimSpace(here) == "":
			end := i
			for end < len(blank) && blank[end] != '\n' || end > i && end < len(blank) && blank[end-1] == '\\' {
				end++
			}
			end = min(end+1, len(text))
			line := start + strings.LastIndexByte(text[start:i], '\n') + 1
			add(end, text[line:end])
			i = end - 1
		case c == '(':
			round++
		case c == ')':
			round--
		case c == '{' && curly == 0 && openingForm.MatchString(here):
			add(i+1, here)
		case c == '{':
			if curly == 0 {
				head := strings.TrimSpace(code[start:i])
				function = strings.HasSuffix(head, ")") || strings.HasSuffix(head, "const") || strings.HasSuffix(head, "noexcept")
			}
			curly++
		case c == '}' && curly > 0:
			if curly--; curly == 0 && function && round == 0 {
				add(i+1, here)
			}
		case c == '}' || c == ';' && round == 0 && curly == 0:
			add(i+1, here)
		}
	}
	if start < len(text) {
		chunks = append(chunks, chunk{text: text[start:], code: code[start:]})
	}
	return chunks
}

func chunkOf(text, code string) chunk {
	c := chunk{text: text, code: code}
	trimmed := strings.TrimSpace(code)
	if strings.HasPrefix(trimmed, "#") {
		if m := includeForm.FindStringSubmatch(strings.TrimLeft(code, "\n")); m != nil {
			c.included = m[1]
		}
		return c
	}
	if trimmed == "}" || openingForm.MatchString(code) || strings.HasPrefix(trimmed, "using namespace") && !strings.Contains(trimmed, "std") {
		return c
	}
	head, _, body := strings.Cut(code, "{")
	head = attributeForm.ReplaceAllString(head, " ")
	for _, m := range functionForm.FindAllStringSubmatch(head, -1) {
		if name := m[1]; !strings.HasPrefix(name, "__") && name != "align" && !strings.HasPrefix(trimmed, "typedef") && !strings.Contains(head, "=") || strings.HasPrefix(name, "operator") {
			c.names, c.kernel = []string{strings.TrimSpace(m[1])}, strings.Contains(head, "__global__")
			if strings.HasPrefix(name, "operator") {
				c.names = nil
			}
			c.host = body && !deviceForm.MatchString(head) && !strings.Contains(head, "template") && c.names != nil && !macroQualified(head)
			return c
		}
	}
	if strings.HasPrefix(trimmed, "using namespace") {
		c.names = []string{strings.TrimSuffix(trimmed, ";")}
		return c
	}
	if m := namedForm.FindStringSubmatch(head); m != nil {
		c.names = append(c.names, m[1])
	}
	if m := lastWordForm.FindStringSubmatch(code); m != nil && isWord(m[1]) {
		c.names = append(c.names, m[1])
	}
	more, _ := declared(head + ";")
	c.names = slices.AppendSeq(c.names, maps.Keys(more))
	if slices.Sort(c.names); len(c.names) == 0 {
		c.names = []string{strings.TrimSpace(strings.TrimSuffix(trimmed, ";"))}
	}
	return c
}

// macroQualified reports whether a declaration begins with a word that looks like a macro, as in DEVICE int f().
func macroQualified(head string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(head), " ")
	return len(first) > 2 && first == strings.ToUpper(first) && isWord(first)
}
