// Package endurance says how often the tests of kills and of damage try: a few
// times in every run, and as often as docs/reliability.md tells with
// AUTOTUNE_ENDURE=1, as `make endure` sets it.
package endurance

import "os"

// Variable asks for the whole numbers.
const Variable = "AUTOTUNE_ENDURE"

// Times is how often a test tries.
func Times(few, whole int) int {
	if os.Getenv(Variable) != "" {
		return whole
	}
	return few
}
