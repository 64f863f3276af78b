package space

import (
	"math"

	"autotune/space/expr"
)

// eval computes a term over machine words: the items of a node followed by the
// word of the tunable that the layer binds.
type eval func(slots []uint64) uint64

// emitter turns terms into code for one layer. What was bound in the layers
// before is not computed again but read from the slot of its item.
type emitter struct {
	layer int            // terms of a lower level are items
	slots map[string]int // the keys of items, and of the layer's own tunable -> slot
}

func (em *emitter) emit(x *term) eval {
	switch {
	case x.op == tConst:
		w := x.word
		return func([]uint64) uint64 { return w }
	case x.level < em.layer, x.op == tVar:
		return slot(em.slots[x.key])
	case x.op.commutes():
		return em.series(x)
	}
	args := make([]eval, len(x.args))
	for i, a := range x.args {
		args[i] = em.emit(a)
	}
	return operation(x, args)
}

func slot(i int) eval { return func(s []uint64) uint64 { return s[i] } }

// series folds the operands of a term that commutes, starting from the item
// that those bound earlier have melted into.
func (em *emitter) series(x *term) eval {
	var args []eval
	if g, rest := group(x, em.layer-1); g != nil {
		args = append(args, em.emit(g))
		for _, a := range rest {
			args = append(args, em.emit(a))
		}
	} else {
		for _, a := range x.args {
			args = append(args, em.emit(a))
		}
	}
	f := args[0]
	for _, g := range args[1:] {
		f = pair(x, f, g)
	}
	return f
}

// group splits the operands of a term that commutes into what is bound by a
// level, as one term, and the rest; nil if nothing is.
func group(x *term, level int) (bound *term, rest []*term) {
	if x.kind == expr.KindFloat {
		return nil, x.args
	}
	g := &term{op: x.op, kind: x.kind, key: termNames[x.op] + "("}
	separator := ""
	vars := false
	for _, a := range x.args {
		if a.level > level {
			rest = append(rest, a)
			continue
		}
		g.args = append(g.args, a)
		g.key += separator + a.key
		g.level = max(g.level, a.level)
		vars = vars || a.op != tConst
		separator = " "
	}
	g.key += ")"
	switch {
	case !vars:
		return nil, x.args
	case len(g.args) == 1:
		return g.args[0], rest
	}
	return g, rest
}

// pair is one step of a series.
func pair(x *term, f, g eval) eval {
	switch x.op {
	case tAnd:
		return func(s []uint64) uint64 {
			if f(s) == 0 {
				return 0
			}
			return g(s)
		}
	case tOr:
		return func(s []uint64) uint64 {
			if f(s) != 0 {
				return 1
			}
			return g(s)
		}
	case tMin:
		return func(s []uint64) uint64 { return uint64(min(int64(f(s)), int64(g(s)))) }
	case tMax:
		return func(s []uint64) uint64 { return uint64(max(int64(f(s)), int64(g(s)))) }
	}
	float := x.kind == expr.KindFloat
	switch {
	case x.op == tAdd && float:
		return func(s []uint64) uint64 { return floatWord(wordFloat(f(s)) + wordFloat(g(s))) }
	case x.op == tAdd:
		return func(s []uint64) uint64 { return f(s) + g(s) }
	case float:
		return func(s []uint64) uint64 { return floatWord(wordFloat(f(s)) * wordFloat(g(s))) }
	}
	return func(s []uint64) uint64 { return f(s) * g(s) }
}

func operation(x *term, args []eval) eval {
	f := args[0]
	float := x.args[0].kind == expr.KindFloat
	switch x.op {
	case tNot:
		return func(s []uint64) uint64 { return boolWord(f(s) == 0) }
	case tIf:
		a, b := args[1], args[2]
		return func(s []uint64) uint64 {
			if f(s) != 0 {
				return a(s)
			}
			return b(s)
		}
	case tCompare:
		return comparison(x, f, args[1])
	case tToFloat:
		return func(s []uint64) uint64 { return floatWord(float64(int64(f(s)))) }
	case tToInt:
		return func(s []uint64) uint64 { return uint64(int64(wordFloat(f(s)))) }
	case tRound:
		return func(s []uint64) uint64 { return uint64(int64(math.RoundToEven(wordFloat(f(s))))) }
	}
	if float {
		return floatOperation(x.op, args)
	}
	return intOperation(x.op, args)
}

func floatOperation(op termOp, args []eval) eval {
	f := args[0]
	switch op {
	case tNeg:
		return func(s []uint64) uint64 { return floatWord(-wordFloat(f(s))) }
	case tAbs:
		return func(s []uint64) uint64 { return floatWord(math.Abs(wordFloat(f(s)))) }
	}
	g := args[1]
	switch op {
	case tDiv:
		return func(s []uint64) uint64 { return floatWord(wordFloat(f(s)) / wordFloat(g(s))) }
	case tMod:
		return func(s []uint64) uint64 { return floatWord(expr.FloorMod(wordFloat(f(s)), wordFloat(g(s)))) }
	}
	return func(s []uint64) uint64 { return floatWord(expr.FloorDiv(wordFloat(f(s)), wordFloat(g(s)))) }
}

func intOperation(op termOp, args []eval) eval {
	f := args[0]
	switch op {
	case tNeg:
		return func(s []uint64) uint64 { return -f(s) }
	case tAbs:
		return func(s []uint64) uint64 {
			if i := int64(f(s)); i < 0 {
				return uint64(-i)
			}
			return f(s)
		}
	}
	g := args[1]
	switch op {
	case tMod:
		return func(s []uint64) uint64 {
			a, b := int64(f(s)), int64(g(s))
			m := a % b
			if m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return uint64(m)
		}
	case tPow:
		return func(s []uint64) uint64 {
			base, result := int64(f(s)), int64(1)
			for exp := g(s); exp != 0; exp >>= 1 {
				if exp&1 != 0 {
					result *= base
				}
				base *= base
			}
			return uint64(result)
		}
	case tCeilDiv:
		return func(s []uint64) uint64 {
			a, b := int64(f(s)), int64(g(s))
			q := a / b
			if a%b != 0 && (a < 0) == (b < 0) {
				q++
			}
			return uint64(q)
		}
	}
	return func(s []uint64) uint64 {
		a, b := int64(f(s)), int64(g(s))
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return uint64(q)
	}
}

func comparison(x *term, f, g eval) eval {
	if x.args[0].kind == expr.KindFloat {
		return compareFloats(x.cmp, f, g)
	}
	if x.args[1].op == tConst && x.cmp >= expr.CmpLt {
		return compareConstant(x.cmp, f, int64(x.args[1].word))
	}
	return compareInts(x.cmp, f, g)
}

func compareInts(cmp expr.Cmp, f, g eval) eval {
	switch cmp {
	case expr.CmpEq:
		return func(s []uint64) uint64 { return boolWord(f(s) == g(s)) }
	case expr.CmpNe:
		return func(s []uint64) uint64 { return boolWord(f(s) != g(s)) }
	case expr.CmpLt:
		return func(s []uint64) uint64 { return boolWord(int64(f(s)) < int64(g(s))) }
	case expr.CmpLe:
		return func(s []uint64) uint64 { return boolWord(int64(f(s)) <= int64(g(s))) }
	case expr.CmpGt:
		return func(s []uint64) uint64 { return boolWord(int64(f(s)) > int64(g(s))) }
	}
	return func(s []uint64) uint64 { return boolWord(int64(f(s)) >= int64(g(s))) }
}

func compareConstant(cmp expr.Cmp, f eval, limit int64) eval {
	switch cmp {
	case expr.CmpLt:
		return func(s []uint64) uint64 { return boolWord(int64(f(s)) < limit) }
	case expr.CmpLe:
		return func(s []uint64) uint64 { return boolWord(int64(f(s)) <= limit) }
	case expr.CmpGt:
		return func(s []uint64) uint64 { return boolWord(int64(f(s)) > limit) }
	}
	return func(s []uint64) uint64 { return boolWord(int64(f(s)) >= limit) }
}

func compareFloats(cmp expr.Cmp, f, g eval) eval {
	switch cmp {
	case expr.CmpEq:
		return func(s []uint64) uint64 { return boolWord(wordFloat(f(s)) == wordFloat(g(s))) }
	case expr.CmpNe:
		return func(s []uint64) uint64 { return boolWord(wordFloat(f(s)) != wordFloat(g(s))) }
	case expr.CmpLt:
		return func(s []uint64) uint64 { return boolWord(wordFloat(f(s)) < wordFloat(g(s))) }
	case expr.CmpLe:
		return func(s []uint64) uint64 { return boolWord(wordFloat(f(s)) <= wordFloat(g(s))) }
	case expr.CmpGt:
		return func(s []uint64) uint64 { return boolWord(wordFloat(f(s)) > wordFloat(g(s))) }
	}
	return func(s []uint64) uint64 { return boolWord(wordFloat(f(s)) >= wordFloat(g(s))) }
}
