package operator

import (
	"regexp"
	"strings"
)

// An operator may be a single CUDA file, whose first comment describes the operator as op.yaml would.

// firstComment matches the comment at the start of a file: /* ... */, or lines that begin with //.
var firstComment = regexp.MustCompile(`\A\s*(?:/\*(?s:.*?)\*/|(?:[ \t]*//[^\n]*(?:\n|\z))+)`)

var slashes = regexp.MustCompile(`(?m)^([ \t]*)//`)

// partFile splits a file into the description and the kernels, which both keep their lines and columns. ok is false if
// the file does not begin with a comment.
func partFile(text string) (description, kernels string, ok bool) {
	comment := firstComment.FindString(text)
	if comment == "" {
		return "", text, false
	}
	description = slashes.ReplaceAllString(comment, "$1  ")
	if start := strings.Index(comment, "/*"); start >= 0 && strings.TrimSpace(comment[:start]) == "" {
		description = comment[:start] + "  " + strings.TrimSuffix(comment[start+2:], "*/")
	}
	return description, strings.Repeat("\n", strings.Count(comment, "\n")) + text[len(comment):], true
}
