package space_test

import (
	"context"
	"fmt"

	"autotune/space"
	"autotune/space/expr"
)

func Example() {
	s, err := space.New(context.Background(), space.Part{
		Template: "direct",
		Tunables: []space.Tunable{
			{Name: "block_x", Values: []expr.Value{expr.Int(32), expr.Int(64), expr.Int(128)}},
			{Name: "rows", Values: []expr.Value{expr.Int(1), expr.Int(2), expr.Int(4)}},
		},
		Definitions: map[string]*expr.Expr{"threads": expr.MustParse("block_x * rows")},
		Constraints: []*expr.Expr{expr.MustParse("threads <= 128")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Len(), "of", s.Cartesian())
	for i := range s.Len() {
		fmt.Println(s.At(i))
	}
	// Output:
	// 6 of 9
	// direct block_x=32 rows=1
	// direct block_x=32 rows=2
	// direct block_x=32 rows=4
	// direct block_x=64 rows=1
	// direct block_x=64 rows=2
	// direct block_x=128 rows=1
}
