// Package pack uses packs: winners of searches, compiled, for programs that have no compiler.
//
//	p, err := pack.Open("layers")      // verifies all of it
//	gpu, err := pack.CUDA(0)               // through libcuda, opened at run time
//	plan, err := p.On(gpu).Plan("conv2d", []int64{16, 64, 56, 56}, map[string]string{"c_out": "64", "padding": "1"}, "")
//	err = plan.Prepare()                   // loads; before a stream is captured
//	err = plan.Launch(stream, x, weight, 0, y)
//
// A Pack is data. A Loader is a pack on one GPU. A Plan is a problem with the kernel that the
// pack has for it. That is the problem's own where it is among the entries and the GPU can run it.
// Else it is what the tree of a family chooses that has the problem in its range. Else it is the
// general kernel, which is right for every problem. Plan.Tensors
// says what Launch takes a pointer for, workspaces included, and how many bytes each has.
// Memory and streams are the caller's.
//
// Package packer, in a folder below, writes packs. Programs in C and Python have loaders of
// their own, which a pack brings along. docs/packs.md has the format.
package pack
