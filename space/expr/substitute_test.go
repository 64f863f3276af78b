package expr

import (
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	macros := Macros{Axes: []string{"h", "w"}, Named: map[string]Macro{}}
	for head, body := range map[string]string{
		"tiles": "product($_out)", "rounded(x, to)": "ceil_div(x, to)*to", "largest(x)": "max(x)", "all_of(x)": "all(x > 0)",
		"circle": "circle + 1", "doubled": "doubling*2", "doubling": "rounded(n, 2)",
	} {
		name, rest, function := strings.Cut(head, "(")
		macro := Macro{Body: open(t, body)}
		if function {
			macro.Parameters = strings.Split(strings.TrimSuffix(rest, ")"), ", ")
		}
		macros.Named[name] = macro
	}
	for _, test := range []struct{ text, axis, want string }{
		{"a + b", "", "a + b"},
		{"tiles + 1", "", "h_out * w_out + 1"},
		{"tiles**2", "", "(h_out * w_out) ** 2"},
		{"doubled", "", "ceil_div(n, 2) * 2 * 2"},
		{"rounded(a - b, 4)", "", "ceil_div(a - b, 4) * 4"},
		{"rounded(kernel_$, 4)", "w", "ceil_div(kernel_w, 4) * 4"},
		{"product(2*kernel_$)", "", "2 * kernel_h * (2 * kernel_w)"},
		{"product(2)", "", "2"},
		{"all($ >= max(kernel_$, 1))", "", "h >= max(kernel_h, 1) and w >= max(kernel_w, 1)"},
		{"any($ > 1, n > 1)", "", "h > 1 or w > 1 or n > 1"},
		{"max(kernel_$)", "", "max(kernel_h, kernel_w)"},
		{"max(kernel_$, $)", "h", "max(kernel_h, h)"},
		{"max(n)", "", "n"},
		{"all_of($_out)", "", "h_out > 0 and w_out > 0"},
		{"largest(kernel_$)", "", "max(kernel_h, kernel_w)"},
		{"$ + product($)", "w", "w + h * w"},
		{"$ + 1", "", "$ + 1"},
		{"rounded(n)", "", "`rounded` takes 2 arguments in brackets"},
		{"rounded", "", "`rounded` takes 2 arguments in brackets"},
		{"tiles()", "", "`tiles` takes 0 arguments in brackets"},
		{"circle", "", "the values of `let` need each other"},
		{"sin(n)", "", "unknown function 'sin'"},
		{"product()", "", "product takes at least one argument"},
	} {
		got := ""
		if node, err := macros.Expand(open(t, test.text), test.axis); err != nil {
			got = err.(*SyntaxError).Message
		} else {
			got = node.Source()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s for %q is %s, want %s", test.text, test.axis, got, test.want)
		}
	}
}

func open(t *testing.T, text string) *Node {
	t.Helper()
	root, err := ParseOpen(text)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Macros that each double an expression must not exhaust the memory.
func TestExpandIsBounded(t *testing.T) {
	macros := Macros{Named: map[string]Macro{"a": {Body: open(t, "1 + 1")}}}
	for name := 'b'; name <= 'z'; name++ {
		before := string(name - 1)
		macros.Named[string(name)] = Macro{Body: open(t, before+"*"+before)}
	}
	if _, err := macros.Expand(open(t, "z"), ""); err == nil || !strings.Contains(err.Error(), "more than 4096 operations") {
		t.Error(err)
	}
}

func TestColumnOf(t *testing.T) {
	root := open(t, "1 + kernel_$*n")
	for name, want := range map[string]int{"kernel_w": 5, "n": 14, "m": 0} {
		if got := root.ColumnOf(name, "w"); got != want {
			t.Errorf("%s is at %d, want %d", name, got, want)
		}
	}
}
