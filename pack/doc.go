// Package pack uses packs: winners of searches, compiled, for programs that have no compiler.
//
//	p, err := pack.Open("layers")          // verifies all of it
//	gpu, err := pack.CUDA(0)               // through libcuda, opened at run time
//	plan, err := p.On(gpu).Plan("conv2d", []int64{16, 64, 56, 56}, map[string]string{"c_out": "64", "padding": "1"}, "")
//	err = plan.Prepare()                   // loads; before a stream is captured
//	err = plan.Launch(stream, x, weight, 0, y)
//
// A Pack is data. A Loader is a pack on one GPU. A Plan is a problem with the kernel that was packed for it; problems that
// were not packed have none in Go. Plan.Tensors says what Launch takes a pointer for, workspaces included, and how many bytes
// each has. Memory and streams are the caller's.
//
// Package packer, in a folder below, writes packs. Programs in C and Python have loaders of their own, which a pack brings
// along and which also run families and general kernels. docs/packs.md has the format.
package pack
