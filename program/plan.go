package program

import "autotune/operator"

// Plan is a program as steps, in the order of execution. Each node of the graph stands in one step, or is in a region.
type Plan struct {
	Graph *Graph
	Steps []Step
}

// Step is a region or a node that PyTorch computes.
type Step struct {
	Region *Region
	Node   *Node // where Region is nil
}

// Region is a part of the graph that one kernel computes: a problem of an operator, with what its arguments are.
type Region struct {
	Name     string   // "region_1", ... a Python identifier
	Nodes    []string // names of the nodes that it replaces, in order
	Operator string
	Request  operator.Request // shape, parameters with the epilogue, math mode
	Inputs   []Input          // the tensors that the problem reads, in the order of its arguments
	Output   Tensor           // the value of the graph that it makes
}

// Input is a tensor that a problem reads: a value of the graph, seen in the shape that the problem's argument has.
type Input struct {
	Value string  // a name of the graph
	Shape []int64 // the argument's; a view of the value with the same elements in the same order
}
