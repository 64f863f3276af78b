package output

import (
	"fmt"
	"strings"
)

// Count is a number of things: "1 element", "2 elements", "2 launches".
func Count[N int | int64 | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "ch") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
