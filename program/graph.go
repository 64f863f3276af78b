package program

// Graph is a program as one forward pass in ATen calls. The JSON document is written by python/graph.py.
type Graph struct {
	Schema  string   `json:"schema"` // "autotune/graph/1"
	Torch   string   `json:"torch"`  // PyTorch's version
	Inputs  []Tensor `json:"inputs"` // the arguments of forward, in order
	State   []Tensor `json:"state"`  // parameters, buffers and constants that the nodes read
	Nodes   []Node   `json:"nodes"`  // in the order of execution
	Outputs []string `json:"outputs"`
}

// Tensor is a value of the graph: an input, a part of the state, or a result of a node.
type Tensor struct {
	Name    string  `json:"name"`           // unique in the graph; a Python identifier
	Path    string  `json:"path,omitempty"` // state: the attribute of the module, as "conv.weight"
	Kind    string  `json:"kind,omitempty"` // state: "parameter", "buffer" or "constant"
	Type    string  `json:"type"`           // "float32", "bfloat16", "float16", "int64", ... as PyTorch calls it
	Shape   []int64 `json:"shape"`
	Strides []int64 `json:"strides"` // in elements
	// Values are a constant's elements in order: no attribute of the module holds it. A truth is 0 or 1.
	Values []float64 `json:"values,omitempty"`
}

// Node is a call of an ATen function.
type Node struct {
	Name      string              `json:"name"`               // of its first result
	Function  string              `json:"function"`           // as "aten.conv2d.default"
	Arguments []Argument          `json:"arguments"`          // positional
	Keywords  map[string]Argument `json:"keywords,omitempty"` // by name
	Results   []Tensor            `json:"results"`            // one, or several; the first has the node's name
	Mutates   []string            `json:"mutates,omitempty"`  // values that the call writes in place, as running statistics
	Problem   *Problem            `json:"problem,omitempty"`  // what an operator computes; nil: none computes the call
	Why       string              `json:"why,omitempty"`      // why there is no problem, where an operator computes others
}

// Problem is what an operator makes of a call, as op.yaml says. It makes the first result.
type Problem struct {
	Operator   string            `json:"operator"`
	Shape      []int64           `json:"shape"`
	Parameters map[string]string `json:"parameters"` // as --set takes them
	Inputs     []Input           `json:"inputs"`     // the operator's tensors that the call gives, in the operator's order
}

// Argument is one of: the name of a value, a constant, or a list of arguments. The JSON is {"value": NAME}, a constant
// as JSON has it, {"constant": TEXT} for a constant of Python that JSON lacks (torch.float32), or a list.
type Argument struct {
	Value    string     // the name of a value; "": no value
	Constant any        // nil, bool, int64, float64, string
	Python   string     // a constant's text in Python, where Constant cannot hold it; `device` is that of the inputs
	List     []Argument // nil: no list
}
