// Package program plans whole PyTorch programs: it reads a program's graph, as torch.export writes it, and cuts it into
// regions. A region is a root operator with the chain of elementwise operations behind it, which one kernel computes.
// What no operator computes stays a call of PyTorch's.
//
// Read reads a graph. NewPlan cleans it (clean.go), and a planner (planner.go) has each root grow (growth.go) over the
// calls behind it, whose expressions pointwise.txt gives and whose tensors axes.go finds the dimensions of.
package program
