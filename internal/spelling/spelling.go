// Package spelling finds the word that a misspelt one was probably meant to be.
package spelling

import (
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// alike is how similar two words are at least, from 0 to 1, where one may be
// meant for the other: "serach" for "search", but not "nope" for "ops".
const alike = 0.8

// Nearest is the one of words that is most like word, whatever their case, or "" when none is.
func Nearest(word string, words []string) string {
	best, similarity := "", alike
	for _, w := range slices.Sorted(slices.Values(words)) {
		if s := smetrics.JaroWinkler(strings.ToLower(word), strings.ToLower(w), 0.7, 4); s > similarity {
			best, similarity = w, s
		}
	}
	return best
}
