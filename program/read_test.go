package program

import (
	"encoding/json"
	"strings"
	"testing"

	"autotune/operator"
)

const oneNode = `{"schema": "autotune/graph/1", "torch": "2", "outputs": ["relu"],
	"inputs": [{"name": "x", "type": "float32", "shape": [2, 3], "strides": [3, 1]}],
	"state": [{"name": "k", "kind": "constant", "type": "float32", "shape": [], "strides": [], "values": [2]}],
	"nodes": [{"name": "relu", "function": "aten.relu.default", "arguments": [{"value": "x"}], "mutates": [],
		"keywords": {"a": [1, 2.0, true, null, "same", {"constant": "torch.float32"}, {"value": "k"}]},
		"results": [{"name": "relu", "type": "float32", "shape": [2, 3], "strides": [3, 1]}],
		"problem": {"operator": "elementwise", "shape": [6, 1, 1], "parameters": {"f": "relu(x)"},
			"inputs": [{"argument": "x", "value": "x", "shape": [6, 1, 1]}]}}]}`

func TestRead(t *testing.T) {
	g, err := Read(strings.NewReader(oneNode))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(g.Nodes[0].Keywords["a"])
	if want := `[1,2.0,true,null,"same",{"constant":"torch.float32"},{"value":"k"}]`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	for _, test := range []struct{ old, new, want string }{
		{`graph/1`, `graph/2`, `its schema is "autotune/graph/2"; want "autotune/graph/1"`},
		{`"name": "x"`, `"name": "x y"`, `"x y" is none in Python`},
		{`"name": "k"`, `"name": "x"`, `"x" is none in Python, or is another's too`},
		{`"name": "relu", "function"`, `"name": "k", "function"`, `node 1, "k": its name is none in Python, or is`},
		{`"name": "relu", "function"`, `"name": "y", "function"`, `its first result is called "relu"`},
		{`[{"value": "x"}]`, `[[{"value": "relu"}]]`, `it reads "relu", which is defined nowhere before it`},
		{`"mutates": []`, `"mutates": ["z"]`, `it writes "z", which is defined nowhere before it`},
		{`[{"value": "x"}]`, `[{"name": "x"}]`, `an argument is {"value": NAME} or {"constant": TEXT}`},
		{`[{"value": "x"}]`, `[1e999]`, "is too large"},
		{`"outputs": ["relu"]`, `"outputs": ["z"]`, `the output "z" is no value of the graph`},
		{`"outputs": ["relu"]`, `"outputs": []`, "it has no outputs"},
		{`"shape": [2, 3]`, `"shape": [2, -3]`, "the value x: [2 -3] is no shape"},
		{`"shape": [2, 3]`, `"shape": [1099511627776, 1099511627776]`, "more than 2^50 elements"},
		{`"strides": [3, 1]`, `"strides": [3]`, "the value x: it has 1 strides and 2 dimensions"},
		{`"values": [2]`, `"values": [2, 3]`, "the value k: it has 2 values; its shape [] has 1"},
		{`"value": "x", "shape"`, `"value": "y", "shape"`, `its problem reads "y", which is none of its arguments`},
		{`"torch"`, `"Torch"`, `the key "Torch" is spelled "torch"`},
		{`{"schema"`, `["schema"`, "not JSON"},
	} {
		_, err := Read(strings.NewReader(strings.Replace(oneNode, test.old, test.new, 1)))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %s", test.new, err, test.want)
		}
	}
}

// Whatever is read can be planned, and a plan has each node once.
func FuzzRead(f *testing.F) {
	f.Add(oneNode)
	f.Add(strings.NewReplacer("relu.default", "add_.Tensor", `"mutates": []`, `"mutates": ["x"]`).Replace(oneNode))
	f.Add(strings.NewReplacer("relu.default", "view.default", `"elementwise"`, `"softmax"`).Replace(oneNode))
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		p, err := NewPlan(g, operator.Find)
		if err != nil {
			return
		}
		isWhole(t, g, p)
		for _, r := range p.Regions() {
			if p, err = p.Without(r.Name); err != nil {
				t.Fatal(err)
			}
			isWhole(t, g, p)
		}
	})
}
