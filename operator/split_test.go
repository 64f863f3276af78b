package operator_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"autotune/device/emulator"
	"autotune/internal/test/endurance"
	"autotune/internal/test/must"
	"autotune/operator"
)

// Matrix products are split along k if their tiles would leave multiprocessors idle, and only then. Partial sums go to
// a workspace that is large enough, and a further launch adds them up.
func TestSplitK(t *testing.T) {
	limits := emulator.Limits()
	for _, test := range endurance.Some([]struct {
		operator, problem, sums string // the workspaces' elements
		splits                  bool
	}{
		{"matmul", "1x128x4096x4096 fp32", "8388608 8388608 0", true},
		{"matmul", "3x70x1000x333 bias=true tf32", "1118880 1118880 0", true},
		{"matmul", "1x128x4096x4096 tf32_even", "8388608 8388608 8388608", true},
		{"matmul", "1x4096x4096x4096 tf32", "0 0 0", false},
		{"matmul", "1x64x32x64 fp32", "0 0 0", false}, // one split counts as no split
		{"conv1d", "2x96x70 c_out=130 kernel=7 padding=3 tf32", "291200 0 0 0 0 0", true},
		{"conv2d", "32x512x7x7 c_out=512 kernel=3 padding=1 tf32", "12845056 0 0 0 0 0", true},
		{"conv2d", "32x1024x14x14 c_out=256 kernel=1 fp32", "12845056 12845056 0 0 0 0", true},
		{"conv2d", "1x1024x14x14 c_out=256 kernel=1 tf32_even", "802816 802816 802816 0 0 0", true},
		{"conv2d", "16x256x56x56 c_out=256 kernel=3 padding=1 tf32", "0 0 0 0 0 0", false},
		{"conv2d", "1x512x8x8 c_out=512 kernel=3 padding=1 tf32", "524288 0 0 524288 0 0", true},
		{"conv3d", "1x40x5x6x7 c_out=66 kernel=3 padding=1 tf32", "221760 0 0 0 0 0", true},
		{"conv2d", "1x512x8x8 c_out=512 kernel=3 padding=1 type=bf16 layout=nhwc fp32", "524288 0 0 0 524288 524288", true},
		{"conv_transpose1d", "2x130x25 c_out=96 kernel=16 stride=8 padding=4 tf32", "499200 0 0 0", true},
		{"conv_transpose2d", "64x512x8x8 c_out=256 kernel=4 stride=2 padding=1 tf32", "12582912 12582912 0 0", true},
		{"conv_transpose3d", "1x40x4x5x6 c_out=20 kernel=3 stride=2 padding=1 tf32", "221760 0 0 0", true},
		{"conv_transpose2d", "1x512x8x8 c_out=64 kernel=4 stride=2 padding=1 type=f16 layout=nhwc fp32", "262144 0 262144 262144", true},
	}, 6) {
		t.Run(test.operator+" "+test.problem, func(t *testing.T) {
			o := find(t, test.operator)
			last := strings.LastIndex(test.problem, " ")
			p, _ := problem(t, o, test.problem[:last]+" normal", test.problem[last+1:], limits)
			var sums []string
			for _, a := range p.Arguments {
				if strings.HasSuffix(a.Name, "_sums") {
					sums = append(sums, fmt.Sprint(a.Elements))
				}
			}
			if got := strings.Join(sums, " "); got != test.sums {
				t.Errorf("workspaces for partial sums have %s elements, want %s", got, test.sums)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			seen := map[int64]bool{}
			for _, part := range partsOf(t, p) {
				for range min(part.end-part.first, 100) {
					c := part.At(part.first + rng.Int64N(part.end-part.first))
					if splits, there := c.Get("splits"); there {
						n, _ := splits.AsInt()
						seen[n] = true
						k, err := p.Kernel(c)
						must.OK(t, err)
						checkSplits(t, p, k, n)
					}
				}
			}
			if len(seen) > 1 != test.splits || !seen[1] {
				t.Errorf("splits are %v", seen)
			}
		})
	}
}

// checkSplits checks the launches of a kernel that divides the sum of each tile among as many blocks as splits says.
func checkSplits(t *testing.T, p *operator.Problem, k operator.Kernel, splits int64) {
	t.Helper()
	products := k.Launches[len(k.Launches)-1]
	written := products.Arguments[len(products.Arguments)-1]
	if splits == 1 {
		if written != "y" || strings.HasSuffix(products.Entry, "_sum") {
			t.Errorf("%s writes %s", products.Entry, written)
		}
		return
	}
	summing := products
	products = k.Launches[len(k.Launches)-2]
	sums := products.Arguments[len(products.Arguments)-1]
	passed := summing.Arguments // may include an argument from which the kernel corrects the sums
	if summing.Entry != products.Entry+"_sum" || passed[0] != sums || passed[len(passed)-1] != "y" {
		t.Fatalf("%s writes %s, then %s is passed %v", products.Entry, sums, summing.Entry, summing.Arguments)
	}
	for _, a := range p.Arguments {
		if a.Name == sums && a.Elements < splits*p.Output().Elements {
			t.Errorf("%d elements for %d splits of %d outputs", a.Elements, splits, p.Output().Elements)
		}
	}
	var tiles int64
	for _, m := range k.Macros {
		if m.Name == "TILES" {
			fmt.Sscan(m.Value, &tiles)
		}
	}
	stay := min(132, tiles*splits) // persistent blocks; the kernels with mma.sync start one block per tile
	if tiles < 1 || tiles*splits > 264 || products.Grid[0] != stay && products.Grid[0] != tiles*splits {
		t.Errorf("%d splits of %d tiles in %d blocks", splits, tiles, products.Grid[0])
	}
}
