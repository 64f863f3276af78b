// Package operator holds the operators that can be tuned. The package turns an operator, a shape and parameters into a
// problem that devices can run.
//
// An operator is a folder of data, or one .cu file. op.yaml describes the function's dimensions, parameters and
// tensors. A reference computes the correct outputs: a plain kernel in reference.cu, a template, or a Python file.
// Every template is a CUDA kernel with macros in place of the numbers that a search may choose. The built-in operators
// are embedded folders without special rights: the function Load reads a user's own folder in the same way.
//
// Three steps lead from an operator's folder to a kernel.
//
//   - Load reads op.yaml, checks everything that does not depend on a shape, and reports each mistake as a
//     *tree.Error with file, line and column.
//   - Operator.Bind turns a Request (shape, parameters, math mode) into a Problem, in which each dimension, derived
//     value, tensor and cost is a number. For a mistake in the request, Bind returns a *RequestError.
//   - Problem.Space lists the valid configurations of all templates that serve the problem, and Problem.Part restricts
//     a search to some of the space. Problem.Kernel turns one configuration into source, macros and launches, ready for
//     a compiler.
//
// Expressions in op.yaml are Python expressions; see package space/expr.
package operator
