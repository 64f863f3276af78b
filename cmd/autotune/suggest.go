package main

import (
	"fmt"

	"github.com/xrash/smetrics"
)

// suggest names the word that was probably meant, or nothing.
func suggest(word string, words []string) string {
	best, distance := "", 4
	for _, w := range words {
		if d := smetrics.WagnerFischer(word, w, 1, 1, 1); d < distance && d < len(w) {
			best, distance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
