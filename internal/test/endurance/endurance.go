// Package endurance says how much tests try: some rows of long tables and a few kills in `make test`, whole tables with
// AUTOTUNE_TEST_FULL=1, as `make test-full` and CI set it, and as many kills as docs/reliability.md tells with
// AUTOTUNE_ENDURE=1, as `make endure` sets it.
package endurance

import "os"

// Variable asks for the whole numbers.
const Variable = "AUTOTUNE_ENDURE"

func Times(few, whole int) int {
	if os.Getenv(Variable) != "" {
		return whole
	}
	return few
}

// Full tells whether tests go through all of their tables.
func Full() bool { return os.Getenv("AUTOTUNE_TEST_FULL") != "" || os.Getenv(Variable) != "" }

// Some are n rows spread evenly over a table, or all of them in full.
func Some[T any](all []T, n int) []T {
	if Full() || len(all) <= n {
		return all
	}
	some := make([]T, n)
	for i := range some {
		some[i] = all[i*len(all)/n]
	}
	return some
}
