// Package space holds tuning spaces: which configurations a template's
// tunables and constraints allow, how many they are, and how to walk among them.
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
// A space numbers its valid configurations from 0 to Len()-1, part after part. At turns a number into a configuration
// and Index turns it back; Sample draws numbers uniformly, Neighbours finds those close by. The numbering is the same
// for every space built from the same parts. Within a part it need not follow the declared order of the tunables where
// constraints tie them together.
//
// # How it is represented
//
// No list of configurations is held. A part becomes a decision diagram: a layered graph with one layer a tunable, in
// which a path from the root to the end is a valid configuration. Two partial configurations end at the same node when
// what remains of the constraints is the same for both: when the bound subexpressions, such as the product block_x*rows
// above, have equal values. Package expr computes these, with the program that also evaluates a single expression.
// Every node knows how many configurations lie below it, so counting is free, and numbering and its inverse take one
// step a tunable. Tunables that share no constraint meet in a single node, which makes the space the product of
// independent parts. So 10^8 valid configurations among 10^11 combinations are as usable as a thousand.
//
// # When a constraint cannot be evaluated
//
// A constraint may fail for some values: a division by zero, say. A configuration that another constraint rules out
// anyway does no harm, whatever order the constraints are written in. If no other constraint rules it out, New returns
// an error that names the constraint, the column and the values. The operands of `and` and the links of a chained
// comparison count as constraints of their own here.
package space
