// Package pack loads packs. A pack contains the winners of searches as compiled kernels, for programs that have no
// compiler.
//
//	p, err := pack.Open("layers")          // verifies all of it
//	gpu, err := pack.CUDA(0)               // through libcuda, opened at run time
//	plan, err := p.On(gpu).Plan("conv2d", []int64{16, 64, 56, 56}, map[string]string{"c_out": "64", "padding": "1"}, "")
//	err = plan.Prepare()                   // loads; before a stream is captured
//	err = plan.Launch(stream, x, weight, 0, y)
//
// A Pack holds the data of a pack. A Loader uses a Pack on one GPU. A Plan is a problem with the kernel that was packed
// for it; in Go, a problem that was not packed has no plan. Plan.Tensors lists the tensors and workspaces that Launch
// takes a pointer for, with their sizes in bytes. Programs that use the package allocate memory and create streams
// themselves.
//
// Package packer writes packs. Each pack includes loaders for programs in C and Python, and the loader for Python also
// runs families and general kernels. docs/packs.md describes the format.
package pack
