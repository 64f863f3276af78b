package expr

import "slices"

// DependencyOrder sorts names so that each comes after those it needs. If some
// need each other, it gives that cycle instead, as a, b, a.
func DependencyOrder(names []string, needs func(name string) []string) (order, cycle []string) {
	const (
		unseen = iota
		open
		done
	)
	state := map[string]int{}
	var path []string
	var visit func(name string) bool
	visit = func(name string) bool {
		path = append(path, name)
		if state[name] == open {
			cycle = slices.Clone(path[slices.Index(path, name):])
			return false
		}
		if state[name] == unseen {
			state[name] = open
			for _, need := range needs(name) {
				if slices.Contains(names, need) && !visit(need) {
					return false
				}
			}
			state[name] = done
			order = append(order, name)
		}
		path = path[:len(path)-1]
		return true
	}
	for _, name := range names {
		if !visit(name) {
			return nil, cycle
		}
	}
	return order, nil
}
