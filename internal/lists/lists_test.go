package lists

import (
	"slices"
	"strconv"
	"testing"
)

func TestLists(t *testing.T) {
	numbers := []int{3, 1, 2, 1}
	even := func(n int) bool { return n%2 == 0 }
	if got := Of(numbers, strconv.Itoa); !slices.Equal(got, []string{"3", "1", "2", "1"}) {
		t.Errorf("Of: %v", got)
	}
	if got := Where(numbers, even); !slices.Equal(got, []int{2}) {
		t.Errorf("Where: %v", got)
	}
	if got := Places(3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("Places: %v", got)
	}
	if got, found := First(numbers, even); got != 2 || !found {
		t.Errorf("First: %v, %v", got, found)
	}
}

// TestNone checks that an empty result is nil, which JSON's omitempty leaves out.
func TestNone(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	if Of([]int{}, strconv.Itoa) != nil || Where([]int{2}, odd) != nil {
		t.Error("a list that is not nil")
	}
	if got, found := First([]int{2}, odd); got != 0 || found {
		t.Errorf("First: %v, %v", got, found)
	}
}
