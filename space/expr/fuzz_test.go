package expr_test

import (
	"testing"

	"autotune/space/expr"
)

// FuzzParse checks that no text panics, and that an expression evaluates to the same value after its names are folded,
// and after it is written and read again.
func FuzzParse(f *testing.F) {
	for _, src := range []string{
		"32 <= block_x * block_y <= 1024", "(a / b) % c == 0", "not a and b or c", "-2 ** -2", "a if b else c", "x not in (1, 2.5, 'a')",
		"ceil_div(w, block_x*vec) <= 65535", "max(1, min(2, x))", "round(2.675, 2)", "0x1f // 3 % -2", "1e3 + .5", "'it\\'s' in s", "((((1))))", "--+-1", "2**3**2",
		"(-2)**2", "9223372036854775807 * 2", "a<b<c<d", "1e999 - 1e999", "1_000", "(1,) in x", "x in [1,]",
	} {
		f.Add(src)
	}
	env := map[string]expr.Value{"a": expr.Int(3), "b": expr.Int(0), "c": expr.Float(-1.5), "d": expr.Bool(true), "x": expr.Int(-7), "s": expr.String("it's")}
	f.Fuzz(func(t *testing.T, src string) {
		e, err := expr.Parse(src)
		if err != nil {
			return
		}
		v, err := e.Eval(env)
		again, err2 := expr.Parse(e.Root().Source())
		if err2 != nil {
			t.Fatalf("%q is written %q: %v", src, e.Root().Source(), err2)
		}
		if u, err2 := again.Eval(env); (err == nil) != (err2 == nil) || u != v {
			t.Fatalf("%q gives %v, %v; written %s %v, %v", src, v, err, again, u, err2)
		}
		folded := expr.New((&expr.Folder{Constants: env}).Fold(e.Root()))
		if u, err2 := folded.Eval(nil); (err == nil) != (err2 == nil) || u != v {
			t.Fatalf("%q gives %v, %v; folded %v, %v", src, v, err, u, err2)
		}
	})
}
