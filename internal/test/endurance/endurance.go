// Package endurance says how many cases and repetitions the tests try. `make test` runs some rows of long tables and
// kills few processes. AUTOTUNE_TEST_FULL=1 (`make test-full` and CI) runs all rows of the tests' tables.
// AUTOTUNE_ENDURE=1 (`make endure`) also kills processes as often as docs/reliability.md says.
package endurance

import "os"

// Variable names the environment variable that makes tests repeat their cases most often.
const Variable = "AUTOTUNE_ENDURE"

func Times(few, whole int) int {
	if os.Getenv(Variable) != "" {
		return whole
	}
	return few
}

// Full tells whether tests run all rows of their tables.
func Full() bool { return os.Getenv("AUTOTUNE_TEST_FULL") != "" || os.Getenv(Variable) != "" }

// Some returns n rows spread evenly over a table, or all rows if Full() is true.
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
