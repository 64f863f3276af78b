package expr_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"autotune/space/expr"
)

var env = map[string]expr.Value{
	"x": expr.Int(7), "y": expr.Int(-3), "z": expr.Int(0), "f": expr.Float(2.5), "t": expr.Bool(true),
	"s": expr.String("tf32"), "big": expr.Int(math.MaxInt64), "small": expr.Int(math.MinInt64),
}

// TestPython compares the results of Eval with those of Python 3.
func TestPython(t *testing.T) {
	i, f, b, s := expr.Int, expr.Float, expr.Bool, expr.String
	for _, c := range []struct {
		src  string
		want expr.Value
	}{
		// numbers
		{"12", i(12)}, {"0x1F", i(31)}, {"0b101", i(5)}, {"0o17", i(15)}, {"1_000", i(1000)}, {"0", i(0)}, {"00", i(0)},
		{"1e3", f(1000)}, {".5", f(.5)}, {"2.", f(2)}, {"1E-2", f(.01)}, {"1e999", f(math.Inf(1))},
		// precedence and grouping
		{"1 + 2 * 3", i(7)}, {"(1 + 2) * 3", i(9)}, {"10 - 4 - 3", i(3)}, {"2 ** 3 ** 2", i(512)}, {"-2 ** 2", i(-4)},
		{"2 ** -1", f(.5)}, {"- - 3", i(3)}, {"+True", i(1)}, {"-True", i(-1)}, {"7 - -3", i(10)}, {"2 * -3", i(-6)},
		{"not 1 == 2", b(true)}, {"not x and z", b(false)}, {"1 or 0 and 0", i(1)}, {"1 if 0 else 2 if 0 else 3", i(3)},
		{"1 + (2 if x > 3 else 0)", i(3)}, {"not not x", b(true)},
		// division
		{"1 / 2", f(.5)}, {"4 / 2", f(2)}, {"7 // 2", i(3)}, {"-7 // 2", i(-4)}, {"7 // -2", i(-4)}, {"-7 // -2", i(3)},
		{"7 % 3", i(1)}, {"-7 % 3", i(2)}, {"7 % -3", i(-2)}, {"-7 % -3", i(-1)}, {"-6 % 3", i(0)},
		{"7.5 // 2", f(3)}, {"-7.5 // 2", f(-4)}, {"-7.5 % 2", f(.5)}, {"7.5 % -2", f(-.5)}, {"6.0 % 3", f(0)}, {"1 // 0.1", f(9)},
		{"5 % 0.5", f(0)}, {"small // 1", i(math.MinInt64)}, {"small % -1", i(0)}, {"big / big", f(1)},
		{"9007199254740993 / 1", f(9007199254740992)}, {"ceil_div(7, 2)", i(4)}, {"ceil_div(-7, 2)", i(-3)},
		{"gcd(12, 18)", i(6)}, {"gcd(-4, 6)", i(2)}, {"gcd(5, 0)", i(5)}, {"gcd(0, 0)", i(0)}, {"gcd(True, 7)", i(1)},
		{"ceil_div(7, -2)", i(-3)}, {"ceil_div(8, 2)", i(4)}, {"ceil_div(7.5, 2)", f(4)},
		// powers
		{"2 ** 62", i(1 << 62)}, {"(-2) ** 63", i(math.MinInt64)}, {"0 ** 0", i(1)}, {"1 ** big", i(1)}, {"(-1) ** big", i(-1)},
		{"4 ** 0.5", f(2)}, {"2.0 ** 3", f(8)}, {"(-2.0) ** 3", f(-8)}, {"(-2) ** -1", f(-.5)},
		// comparison
		{"1 == 1.0", b(true)}, {"True == 1", b(true)}, {"True + True", i(2)}, {"'1' == 1", b(false)}, {"'1' != 1", b(true)},
		{"1 < 2 < 3", b(true)}, {"1 < 3 < 2", b(false)}, {"3 > 2 > 1 == True", b(true)}, {"1 < x <= 7 != 8", b(true)},
		{"'a' < 'b'", b(true)}, {"s == 'tf32'", b(true)}, {"s != \"fp32\"", b(true)},
		{"9007199254740993 == 9007199254740992.0", b(false)}, {"9007199254740993 > 9007199254740992.0", b(true)},
		{"big < 1e19", b(true)}, {"small > -1e19", b(true)}, {"1e999 - 1e999 == 0", b(false)}, {"1e999 - 1e999 != 0", b(true)},
		// short circuit: the division is not evaluated
		{"2 < 1 < 1 // z", b(false)}, {"z == 0 or 1 // z", b(true)}, {"z and 1 // z", i(0)}, {"1 // z if z else -1", i(-1)},
		{"z != 0 and x % z == 0", b(false)},
		// `and` and `or` return an operand
		{"0 or 'a'", s("a")}, {"3 and 4", i(4)}, {"0 and 4", i(0)}, {"0.0 or z or ''", s("")}, {"2 or 3", i(2)}, {"1 and '' and 5", s("")},
		// membership
		{"x in (1, 7)", b(true)}, {"x in [1, 2]", b(false)}, {"x not in [1, 2]", b(true)}, {"1.0 in [1]", b(true)}, {"x in ()", b(false)},
		{"x in (7,)", b(true)}, {"s in ('fp32', 'tf32')", b(true)}, {"1 < x in [7]", b(true)},
		{"x in [y + 10, 1]", b(true)},
		// functions
		{"min(3, 1, 2)", i(1)}, {"max(1, 2.5)", f(2.5)}, {"max(1, 1.0)", i(1)}, {"max(1.0, 1)", f(1)}, {"min('b', 'a')", s("a")},
		{"abs(-3)", i(3)}, {"abs(-2.5)", f(2.5)}, {"abs(True)", i(1)}, {"int(2.9)", i(2)}, {"int(-2.9)", i(-2)}, {"int(True)", i(1)},
		{"float(3)", f(3)}, {"round(2.5)", i(2)}, {"round(3.5)", i(4)}, {"round(-0.5)", i(0)},
		{"bool(0.0)", b(false)}, {"bool('a')", b(true)},
		// names
		{"x + y", i(4)}, {"f * 2", f(5)}, {"t + 1", i(2)}, {" x\n", i(7)}, {"'it\\'s'", s("it's")},
	} {
		e, err := expr.Parse(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		for how, eval := range ways(e) {
			if got, err := eval(); err != nil || got != c.want {
				t.Errorf("%s, %s: %v (%v), %v; want %v (%v)", c.src, how, got, got.Kind(), err, c.want, c.want.Kind())
			}
		}
	}
}

// ways evaluates an expression in two ways: with the values of names from a map, and with the names folded as
// constants.
func ways(e *expr.Expr) map[string]func() (expr.Value, error) {
	return map[string]func() (expr.Value, error){
		"map": func() (expr.Value, error) { return e.Eval(env) },
		"constants": func() (expr.Value, error) {
			return expr.New((&expr.Folder{Constants: env}).Fold(e.Root())).Eval(nil)
		},
	}
}

func TestEvalErrors(t *testing.T) {
	for _, c := range []struct {
		src    string
		column int
		want   string
	}{
		{"x // z", 3, "division by zero"}, {"1 + x / z", 7, "division by zero"}, {"x % z", 3, "modulo by zero"}, {"1.5 % 0", 5, "modulo by zero"},
		{"gcd(1.5, x)", 1, "gcd() takes integers, not float and int"}, {"gcd(small, small)", 1, "64 bits"},
		{"ceil_div(x, z)", 1, "division by zero"}, {"big + 1", 5, "64 bits"}, {"small - 1", 7, "64 bits"}, {"big * 2", 5, "64 bits"},
		{"-small", 1, "64 bits"}, {"abs(small)", 1, "64 bits"}, {"small // -1", 7, "64 bits"}, {"2 ** 63", 3, "64 bits"}, {"10 ** big", 4, "64 bits"},
		{"0 ** -1", 3, "negative power"}, {"(-8) ** 0.5", 6, "fractional power"}, {"10.0 ** 400", 6, "too large"}, {"int(1e300)", 1, "64 bits"},
		{"int(1e999)", 1, "int() cannot hold inf"}, {"s + 1", 3, "'+' takes numbers, not str and int"}, {"-s", 1, "takes a number, not str"},
		{"s < 1", 3, "'<' cannot compare str and int"}, {"max(x, s)", 1, "cannot compare"}, {"int(s)", 1, "takes a number"},
		{"x + nowhere", 5, "unknown name 'nowhere'"}, {"abs(s)", 1, "takes a number"}, {"1 < 2 < 1 // z", 11, "division by zero"},
	} {
		e, err := expr.Parse(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		for how, eval := range ways(e) {
			_, err := eval()
			var failed *expr.EvalError
			if !errors.As(err, &failed) || failed.Column != c.column || !strings.Contains(failed.Message, c.want) || failed.Source != c.src {
				t.Errorf("%s, %s: %v; want column %d: %s", c.src, how, err, c.column, c.want)
			}
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		src    string
		column int
		want   string
	}{
		{"", 1, "empty"}, {"  ", 1, "empty"}, {"a +", 4, "expected a number, a name or '(', found the end"}, {"a b", 3, "expected an operator or the end, found 'b'"},
		{"(a", 3, "expected ')'"}, {"a)", 2, "closes nothing"}, {"a && b", 3, "write 'and'"}, {"a || b", 3, "write 'or'"}, {"a = b", 3, "write '=='"},
		{"!a", 1, "write 'not'"}, {"a ? b : c", 3, "if condition else"}, {"a <> b", 3, "write '!='"}, {"a.b", 2, "no dots"}, {"f(a)", 1, "unknown function 'f': there are abs"},
		{"min(a)", 1, "at least 2"}, {"abs(a, b)", 1, "at most 1"}, {"(1, 2)", 1, "right of 'in'"}, {"[1] in a", 1, "right of 'in'"}, {"a in 3", 6, "takes a tuple or a list"}, {"a in ((1, 2), 3)", 7, "right of 'in'"},
		{"a in (1, 2) < 3", 6, "right of 'in'"}, {"1, 2", 2, "a tuple needs parentheses"}, {"a not b", 7, "expected 'in' after 'not'"}, {"a if b", 7, "expected 'else'"},
		{"'abc", 1, "not closed"}, {"'\\q'", 2, "unknown escape"}, {"12ab", 3, "follows the number 12"}, {"012", 1, "leading zero"}, {"99999999999999999999", 1, "64 bits"},
		{"0x", 2, "follows the number 0"}, {"1__0", 1, "between digits"}, {"None", 1, "'None' is no name"}, {"true", 1, "write True"}, {"a is b", 3, "expected an operator"}, {"größe + ?", 9, "'?'"},
		{"a & b", 3, "write 'and'"}, {strings.Repeat("(", 300), 201, "deep"}, {strings.Repeat("-", 300) + "1", 200, "deep"}, {"not", 4, "found the end"}, {"a @ b", 3, "unexpected character '@'"},
	} {
		_, err := expr.Parse(c.src)
		var failed *expr.SyntaxError
		if !errors.As(err, &failed) || failed.Column != c.column || !strings.Contains(failed.Message, c.want) {
			t.Errorf("%.20s: %v; want column %d: %s", c.src, err, c.column, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%.20s: the error has several lines", c.src)
		}
	}
}

func TestNames(t *testing.T) {
	e, err := expr.Parse("b * a + min(b, c) if d else 'e'")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(e.Names(), " "); got != "a b c d" {
		t.Errorf("names %s", got)
	}
	if err := e.Check(map[string]bool{"a": true, "b": true, "c": true}); err == nil ||
		!strings.Contains(err.Error(), "column 22: unknown name 'd': known are a, b, c") {
		t.Errorf("checking without d: %v", err)
	}
}

func TestSubstitute(t *testing.T) {
	definitions := map[string]*expr.Expr{"a": expr.MustParse("x + b"), "b": expr.MustParse("1 // y"), "e5": expr.MustParse("never")}
	for src, want := range map[string]string{
		"a*2":                 "(x + 1 // y) * 2",
		"aa*a_":               "aa * a_",
		"'a' == b or \"a'a\"": "'a' == 1 // y or 'a\\'a'",
		"1e5*a":               "100000.0 * (x + 1 // y)",
		"min(a,a)":            "min(x + 1 // y, x + 1 // y)",
	} {
		got := expr.MustParse(src).Substitute(definitions)
		if !sameTree(got.Root(), expr.MustParse(want).Root()) || got.String() != src {
			t.Errorf("%s did not become %s", src, want)
		}
	}
	// An error quotes the expression in which the error occurred.
	e := expr.MustParse("a > 2").Substitute(definitions)
	if _, err := e.Eval(map[string]expr.Value{"x": expr.Int(1), "y": expr.Int(0)}); err == nil || err.Error() != `"1 // y", column 3: division by zero` {
		t.Errorf("evaluating %s: %v", e, err)
	}
}

// sameTree tells whether two trees compute the same, regardless of their positions in a text.
func sameTree(a, b *expr.Node) bool {
	return a.Op == b.Op && a.Name == b.Name && a.Value == b.Value && slices.Equal(a.Links, b.Links) && slices.EqualFunc(a.Args, b.Args, sameTree)
}

// TestGrouping checks by parentheses which operators bind more tightly: the first expression equals the second, but not
// the third.
func TestGrouping(t *testing.T) {
	for _, c := range [][3]string{
		{"a * b * c", "(a*b)*c", "a*(b*c)"}, {"a - b - c", "(a-b)-c", "a-(b-c)"}, {"-a**b", "-(a**b)", "(-a)**b"},
		{"a**b**c", "a**(b**c)", "(a**b)**c"}, {"a if b else c+1", "a if b else (c+1)", "(a if b else c)+1"},
		{"not a and b", "(not a) and b", "not (a and b)"}, {"a<b<c", "a < b < c", "(a<b)<c"}, {"x not  in(1,2)", "x not in [1, 2]", "not (x in [1, 2])"},
		{"a and b or c", "(a and b) or c", "a and (b or c)"}, {"'a\\'b'", `"a'b"`, "'ab'"},
	} {
		got, same, other := expr.MustParse(c[0]), expr.MustParse(c[1]), expr.MustParse(c[2])
		if !sameTree(got.Root(), same.Root()) || sameTree(got.Root(), other.Root()) || got.String() != c[0] {
			t.Errorf("%s is not grouped as %s", got, same)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	e := expr.MustParse("32 <= x * y <= 1024 and x % 2 == 0")
	env := map[string]expr.Value{"x": expr.Int(32), "y": expr.Int(8)}
	for b.Loop() {
		_, _ = e.Eval(env)
	}
}
