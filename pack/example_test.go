package pack_test

import (
	"fmt"

	"autotune/pack"
)

// This program opens a pack, plans a convolution for the machine's first GPU, and launches the convolution on the
// program's own stream and memory. The 0 among the arguments of Launch is a null pointer, because this convolution has
// no bias.
func Example() {
	p, err := pack.Open("layers")
	if err != nil {
		fmt.Println(err)
		return
	}
	gpu, err := pack.CUDA(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := p.On(gpu).Plan("conv2d", []int64{8, 64, 56, 56}, map[string]string{"c_out": "64", "padding": "1"}, "")
	if err == nil {
		err = plan.Prepare()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range plan.Tensors {
		fmt.Println(t.Role, t.Name, t.Shape, t.Bytes)
	}
	var stream pack.Stream
	var x, weight, y pack.Pointer // allocated by the program
	if err := plan.Launch(stream, x, weight, 0, y); err != nil {
		fmt.Println(err)
	}
	// Output: the pack layers: it is no folder that can be read: no such file or directory
}
