// Package lists makes lists of other lists, in the words that package slices lacks.
package lists

import "slices"

// Of has what f makes of each item; nil of none.
func Of[T, R any](list []T, f func(T) R) []R {
	if len(list) == 0 {
		return nil
	}
	all := make([]R, len(list))
	for i, item := range list {
		all[i] = f(item)
	}
	return all
}

// Where has the items for which keep is true; nil if there are none.
func Where[T any](list []T, keep func(T) bool) []T {
	var all []T
	for _, item := range list {
		if keep(item) {
			all = append(all, item)
		}
	}
	return all
}

// Places are those of n items: 0, 1 and so on.
func Places(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// First is the first item for which is holds.
func First[T any](list []T, is func(T) bool) (first T, found bool) {
	if at := slices.IndexFunc(list, is); at >= 0 {
		return list[at], true
	}
	return first, false
}
