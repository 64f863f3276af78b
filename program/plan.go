package program

import "autotune/operator"

// Plan is a program as steps, in the order of execution. Each node of the graph stands in one step, is in a region, or
// was dropped.
type Plan struct {
	Graph   *Graph // without in-place calls and identities where that changes nothing: names of dropped ones are replaced
	Steps   []Step
	Dropped []Dropped
}

// Dropped is a node that no step needs.
type Dropped struct {
	Node string
	Why  string // "its value is that of conv2d", "nothing reads it"
}

// Step is a region or a node that PyTorch computes.
type Step struct {
	Region *Region
	Node   *Node  // where Region is nil
	Why    string // why no region has the node
}

// Region is a part of the graph that one kernel computes: a problem of an operator, with what its arguments are.
type Region struct {
	Name     string   // "region_1", ... a Python identifier
	Nodes    []string // names of the nodes that it replaces, in order
	Operator string
	Request  operator.Request // shape, parameters with the epilogue, math mode
	Inputs   []Input          // the tensors that the problem reads, in the order of its arguments: then the epilogue's
	Output   Tensor           // the value of the graph that it makes, a view of what the problem's output is
	Mutates  []string         // values that the kernel writes in place, as running statistics
}

// Input is a tensor that a problem reads: a value of the graph, seen in the shape that the problem's argument has. A
// tensor that a call leaves out, as a bias, has none.
type Input struct {
	Argument string  `json:"argument"` // the operator's, as "weight", or the epilogue's, as "t0"
	Value    string  `json:"value"`    // a name of the graph
	Shape    []int64 `json:"shape"`    // the argument's; a view of the value with the same elements in the same order
}
