// Package space holds tuning spaces: it says which configurations a template's tunables and constraints allow, and
// finds configurations that are similar to a given one.
//
//	s, err := space.New(ctx, space.Part{
//		Template:    "direct",
//		Tunables:    []space.Tunable{{Name: "block_x", Values: ints(32, 64, 128)}, {Name: "rows", Values: ints(1, 2, 4)}},
//		Constraints: []*expr.Expr{expr.MustParse("block_x * rows <= 256")},
//	})
//	for i := range s.Len() {
//		fmt.Println(s.At(i))
//	}
//
// A space numbers its valid configurations from 0 to Len()-1, part after part. At returns the configuration of a
// number, and Index returns the number of a configuration. Sample draws the numbers of random configurations, and
// Neighbours returns the numbers of similar configurations. Two spaces that are built from the same parts give every
// configuration the same number. If constraints connect tunables, the numbers of configurations may not follow the
// declared order of the tunables.
//
// # Representation
//
// A space stores no list of configurations. Each part becomes a decision diagram: a layered graph with one layer per
// tunable, in which a path from the root to the end is a valid configuration. The paths of two partial configurations
// end at the same node if the constraints leave both the same choices. The choices are the same if the subexpressions
// of bound tunables, such as block_x*rows for a constraint block_x*rows <= 256, have equal values in both
// configurations. Package expr computes the values of subexpressions with the program that also evaluates single
// expressions. Every node stores how many configurations it leads to, so counting needs no search, and the conversion
// between numbers and configurations takes one step per tunable. The diagrams of tunables that share no constraint are
// joined at a single node, which makes the space the product of independent parts. With decision diagrams, 10^8 valid
// configurations among 10^11 combinations are as easy to use as a thousand.
//
// # When a constraint cannot be evaluated
//
// A constraint may fail for some values, for example by a division by zero. The failure of a constraint is ignored if
// another constraint rules the configuration out, whatever the order of the constraints. New returns an error that
// names the constraint, the column and the values if a constraint fails for a configuration that all other constraints
// allow. Each operand of `and` and each link of a chained comparison counts as a separate constraint.
package space
