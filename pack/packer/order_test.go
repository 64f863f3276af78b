package packer

import (
	"strings"
	"testing"

	"autotune/tuner/operator"
)

// A pack knows nothing of orders in memory: it holds tensors that lie as their shapes say, and refuses others.
func TestOrders(t *testing.T) {
	request := operator.Request{Shape: []int64{2, 8, 9, 10}, Parameters: map[string]string{"kernel": "3", "type": "bf16"}}
	p := empty("orders", "a test")
	w := winner(t, request, "avg_pool2d")
	e, err := p.entry(w, "sm_90a")
	if err != nil {
		t.Fatal(err)
	}
	if _, named := e.Values["layout"]; named {
		t.Errorf("the entry's values are %v", e.Values)
	}
	if err := p.describe(w.Problem.Operator); err != nil {
		t.Fatal(err)
	}
	for _, d := range p.Operators[0].Derived {
		if d.Name == "channels_last" && d.Expression.String() != "False" {
			t.Errorf("channels_last is %s", d.Expression)
		}
	}
	request.Parameters["layout"] = "nhwc"
	if _, err := p.entry(winner(t, request, "avg_pool2d"), "sm_90a"); err == nil || !strings.Contains(err.Error(), "`x` lies in memory otherwise than its shape says") {
		t.Errorf("a pack takes channels-last tensors: %v", err)
	}
}
