package packer

import (
	"strings"
	"testing"

	"autotune/internal/lists"
	"autotune/internal/test/testneeds"
	"autotune/operator"
	"autotune/tuner/cudasource"
)

// epilogues makes winners of one matrix product with different epilogues.
func epilogues(t testing.TB, all ...string) []cudasource.Winner {
	return lists.Of(all, func(epilogue string) cudasource.Winner {
		set := map[string]string{"epilogue": epilogue}
		return winner(t, operator.Request{Shape: []int64{2, 9, 24, 16}, Parameters: set}, "matmul")
	})
}

// A call takes the tensors of all packed epilogues, but each kernel gets only the tensors of its own epilogue.
func TestEpilogues(t *testing.T) {
	testneeds.Python.Need(t)
	winners := epilogues(t, "x+r[batch,m,n]", "gelu(x+d[n])*s[f32]", "x", "relu(x+d[n])")
	p := open(t, packed(t, "layers", winners))
	text := strings.Join(p.Operators[0].Taken(), " ")
	if text != "a b bias y d r s" {
		t.Errorf("a call takes %s", text)
	}
	for _, g := range p.General {
		want := map[string]string{
			"x": "a b bias y", "relu(x+d[n])": "a b bias d y", "x+r[batch,m,n]": "a b bias r y",
			"gelu(x+d[n])*s[f32]": "a b bias d s y",
		}[g.Values["epilogue"].String()]
		if got := strings.Join(g.Arguments, " "); got != want {
			t.Errorf("the general kernel of %s takes %s, want %s", g.Values["epilogue"], got, want)
		}
	}
	winnersServed(t, winners)
	convolved := operator.Request{Shape: []int64{2, 3, 9, 8}, Parameters: map[string]string{
		"c_out": "6", "padding": "1", "epilogue": "silu(x*q[c])+r[n,c,h,w]"}}
	rows := operator.Request{Shape: []int64{2, 3, 9}, Parameters: map[string]string{
		"kernel": "3", "epilogue": "silu(x*q[c])+r[n,c,w]"}}
	winners = append(winners, winner(t, convolved, "conv2d"), winner(t, rows, "avg_pool1d"), winner(t, rows, "max_pool1d"))
	withTorch(t, "epilogue.py", winners...)
}

func TestEpiloguesOfOneName(t *testing.T) {
	_, err := Make(t.Context(), echo{}, epilogues(t, "x+d[n]", "x*d[m]"), nil, Options{Name: "layers"})
	if err == nil || !strings.Contains(err.Error(), "`d` is another tensor in another epilogue of the pack; call one") {
		t.Error(err)
	}
}
