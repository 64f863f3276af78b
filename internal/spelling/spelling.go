// Package spelling finds the word that a user probably meant by a misspelt word.
package spelling

import (
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// alike is the least similarity, from 0 to 1, at which one word may be meant for another: "serach" for "search", but
// not "nope" for "ops".
const alike = 0.8

// Nearest returns the element of words that is most similar to word, ignoring case, or "" if none is similar enough.
func Nearest(word string, words []string) string {
	best, similarity := "", alike
	for _, w := range slices.Sorted(slices.Values(words)) {
		if s := smetrics.JaroWinkler(strings.ToLower(word), strings.ToLower(w), 0.7, 4); s > similarity {
			best, similarity = w, s
		}
	}
	return best
}
