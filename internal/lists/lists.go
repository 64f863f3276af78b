// Package lists has functions on slices that the standard package slices lacks.
package lists

import "slices"

// Of returns the results of f for each item, or nil for an empty list.
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

// Where returns the items for which keep is true, or nil if there are none.
func Where[T any](list []T, keep func(T) bool) []T {
	var all []T
	for _, item := range list {
		if keep(item) {
			all = append(all, item)
		}
	}
	return all
}

// Places returns the indices of a list of n items: 0, 1, ..., n-1.
func Places(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// First returns the first item for which the function is returns true.
func First[T any](list []T, is func(T) bool) (first T, found bool) {
	if at := slices.IndexFunc(list, is); at >= 0 {
		return list[at], true
	}
	return first, false
}
