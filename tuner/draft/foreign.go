package draft

import (
	"fmt"
	"regexp"
	"strings"

	"autotune/internal/cudafile"
)

// notCUDA are texts by which files that look like CUDA are known to be something else, or too old.
var notCUDA = []struct {
	form   *regexp.Regexp
	refuse string // with the text that was found
}{
	{regexp.MustCompile(`\{%[^\n]*?%\}`), "%q is of a program that generates kernels: write what it generates for one choice into a file, and give that"},
	{regexp.MustCompile(`[\w*+/-]\s*(\{\{\s*\w+\s*\}\})`), "%q is of a program that generates kernels: write a macro of that name in its place, without a #define"},
	{regexp.MustCompile(`[-+*/(,<=]\s*(%\(?[a-z]\w*\)?[a-z]?)\s*[-+*/),;>]`), "%q stands for a number that another program puts there: write a macro in its place, as block_size_x"},
	{regexp.MustCompile(`\btexture\s*<[^>]*>`), "CUDA 12 has no %s any more: pass the array, and read it by a pointer"},
}

// Foreign says why a file cannot be read as CUDA, and what to do.
func Foreign(text string) error {
	code := cudafile.Code(text)
	for _, other := range notCUDA {
		m := other.form.FindStringSubmatchIndex(code)
		if m == nil {
			continue
		}
		from, to := m[len(m)-2], m[len(m)-1]
		return fmt.Errorf("line %d: "+other.refuse, 1+strings.Count(code[:from], "\n"), code[from:to])
	}
	return nil
}
