package operator

import (
	"math"

	"autotune/space/expr"
)

// An operator's tolerance applies to its outputs before an epilogue. An epilogue such as `x*1000` makes the errors of
// outputs 1000 times as large, and a cast to 16 bits may round two nearly equal values to different neighbours. The
// absolute tolerance of an output therefore grows by as much as the epilogue enlarges errors. The values and tensors of
// an epilogue are assumed to have magnitude 1, like inputs that a search draws. Even an epilogue of an exact value,
// such as a maximum, is not exact, because the compiler may fuse products and sums differently in each kernel.

// castErrors are the relative errors of casts to 16-bit types, i.e. the relative distances of neighbouring values.
var castErrors = map[string]float64{string(BF16): 1.0 / 128, string(F16): 1.0 / 1024}

const fused = 1e-6 // error of a few sums that are fused with products or not, relative

// loosened returns an output's absolute and relative tolerance, which its epilogue's rounding errors enlarge.
func (b *binder) loosened(atol, rtol float64, output Type) (float64, float64) {
	for i := range b.p.Operator.Parameters {
		if s := &b.p.Operator.Parameters[i]; s.Axes != nil {
			c, _ := s.chain(b.values[s.Name].String())
			grown, _ := spread(c.root, 1, 0)
			rounded, size := spread(c.root, 0, 1)
			atol = atol*max(1, grown) + rounded
			if c.root.Op != expr.OpName {
				atol, rtol = max(atol, fused*size), max(rtol, fused+castErrors[string(output)])
			}
		}
	}
	return atol, rtol
}

// spread returns the error and the magnitude of an expression, given the error of `x` and whether casts have errors.
func spread(n *expr.Node, ofX, ofCast float64) (off, size float64) {
	var offs, sizes []float64
	for _, a := range n.Args {
		off, size := spread(a, ofX, ofCast)
		offs, sizes = append(offs, off), append(sizes, size)
	}
	switch n.Op {
	case expr.OpConst:
		size, _ = n.Value.AsFloat()
		return 0, math.Abs(size)
	case expr.OpName:
		if n.Name == "x" {
			return ofX, 1
		}
		return 0, 1
	case expr.OpAdd, expr.OpSub:
		return offs[0] + offs[1], sizes[0] + sizes[1]
	case expr.OpMul:
		return offs[0]*sizes[1] + sizes[0]*offs[1], sizes[0] * sizes[1]
	case expr.OpDiv:
		by := max(sizes[1], 1e-6)
		return (offs[0] + sizes[0]*offs[1]/by) / by, sizes[0] / by
	}
	for i := range offs {
		off, size = max(off, offs[i]), max(size, sizes[i])
	}
	switch n.Name {
	case string(F16), string(BF16):
		off += ofCast * castErrors[n.Name] * size
	case "exp", "expm1":
		return off * math.Exp(min(sizes[0], 10)), math.Exp(min(sizes[0], 10))
	case "square":
		return 2 * off * size, size * size
	case "pow":
		power := max(1, sizes[1])
		return power * offs[0] * math.Pow(sizes[0], power-1), math.Pow(sizes[0], power)
	}
	return off, size
}
