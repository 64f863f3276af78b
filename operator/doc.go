// Package operator holds the operators that can be tuned and turns one of them,
// a shape and parameters into a problem that devices can run.
//
// An operator is a folder of data, or one .cu file. op.yaml says what the
// function's dimensions, parameters and tensors are. A reference says what is
// right: a plain kernel as reference.cu, a template or a Python
// file. Every template is a CUDA kernel with macros in place of the numbers
// that a search may choose. The built-in operators are embedded folders and
// have no private door: a user's own folder goes through the same Load.
//
// The way from a folder to a kernel has three steps.
//
//   - Load reads op.yaml. All that can be checked without a shape is checked
//     here, and every complaint is a *tree.Error with file, line and column.
//   - Operator.Bind turns a Request (shape, parameters, math mode) into a
//     Problem: each dimension, derived value, tensor and cost is now a number.
//     What the request got wrong is a *RequestError.
//   - Problem.Space lists the valid configurations of all templates that serve
//     the problem, and Problem.Kernel turns one configuration into source,
//     macros and launch, ready for a compiler. A search that wants only some of
//     the space asks for a Part of it. The Problem does not change.
//
// Expressions in op.yaml are Python expressions; see package space/expr.
package operator
