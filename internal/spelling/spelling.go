// Package spelling finds the word that a misspelt one was probably meant to be.
package spelling

import (
	"slices"
	"strings"

	"github.com/xrash/smetrics"
)

// Nearest is the one of words that is the fewest edits away from word, whatever
// their case. It is "" when none is near: when more than half of word's letters
// would change, or all letters of the other.
func Nearest(word string, words []string) string {
	best, distance := "", 1+max(1, len(word)/2)
	for _, w := range slices.Sorted(slices.Values(words)) {
		d := smetrics.WagnerFischer(strings.ToLower(word), strings.ToLower(w), 1, 1, 1)
		if d < distance && d < len(w) {
			best, distance = w, d
		}
	}
	return best
}
