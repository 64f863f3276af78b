package main

import (
	"fmt"

	"autotune/internal/spelling"
)

// suggest names the word that was probably meant, or nothing.
func suggest(word string, words []string) string {
	near := spelling.Nearest(word, words)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}
