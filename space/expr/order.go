package expr

import "slices"

// DependencyOrder sorts names so that each comes after those it needs. If some
// need each other, it gives that cycle instead, as a, b, a.
func DependencyOrder(names []string, needs func(name string) []string) (order, cycle []string) {
	var path []string
	var visit func(name string) bool
	visit = func(name string) bool {
		if slices.Contains(order, name) {
			return true
		}
		if i := slices.Index(path, name); i >= 0 {
			cycle = append(slices.Clone(path[i:]), name)
			return false
		}
		path = append(path, name)
		for _, need := range needs(name) {
			if slices.Contains(names, need) && !visit(need) {
				return false
			}
		}
		path = path[:len(path)-1]
		order = append(order, name)
		return true
	}
	for _, name := range names {
		if !visit(name) {
			return nil, cycle
		}
	}
	return order, nil
}
