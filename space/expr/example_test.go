package expr_test

import (
	"fmt"

	"autotune/space/expr"
)

func Example() {
	e, err := expr.Parse("32 <= block_x * block_y <= 1024")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Names())
	fmt.Println(e.Eval(map[string]expr.Value{"block_x": expr.Int(32), "block_y": expr.Int(4)}))
	// Output:
	// [block_x block_y]
	// true <nil>
}

func ExampleExpr_Substitute() {
	tiles := expr.MustParse("ceil_div(w, block_x)")
	e := expr.MustParse("tiles <= 65535").Substitute(map[string]*expr.Expr{"tiles": tiles})
	_, err := e.Eval(map[string]expr.Value{"w": expr.Int(100), "block_x": expr.Int(0)})
	fmt.Println(err)
	// Output:
	// "ceil_div(w, block_x)", column 1: division by zero
}
