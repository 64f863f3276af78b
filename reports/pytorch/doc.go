// Package pytorch writes a search's winner as a PyTorch module: one Python file
// with a class ModelNew that takes the place of PyTorch's own.
//
// The file has three parts. The template module.py.tmpl is the same for all
// operators: checks, compilation, launch and gradients' bookkeeping. The
// expressions of op.yaml are Python's: the function plan computes a problem's
// sizes with them and refuses what the operator does not allow. And the class is
// the operator's own module.py, as it stands. Two kernels go with them: the winner, for the problem that it
// was tuned for, and the operator's general one, for every other.
//
// docs/pytorch-export.md tells users what to expect of the file, and authors of
// operators what module.py and general.cuh define.
package pytorch
