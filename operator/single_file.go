package operator

import (
	"regexp"
	"strings"
)

// An operator may be a single CUDA file: its first comment describes it, as op.yaml would, and its kernels follow.

// firstComment is what a file begins with: a comment in stars, or lines of slashes.
var firstComment = regexp.MustCompile(`\A\s*(?:/\*(?s:.*?)\*/|(?:[ \t]*//[^\n]*(?:\n|\z))+)`)

var slashes = regexp.MustCompile(`(?m)^([ \t]*)//`)

// partFile takes a file apart, so that each part keeps the lines and columns that it
// has there: the description, and the kernels. Not ok if it begins with no comment.
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
