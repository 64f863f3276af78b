//go:build cuda

// Command library searches for the fastest kernel of a pooling layer, packs the winner, and launches it from the pack:
//
//	library layers
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"
	"time"

	"gorgonia.org/cu"

	"autotune/device"
	"autotune/operator"
	"autotune/pack"
	"autotune/pack/packer"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
	"autotune/tuner/devices"
)

var layer = operator.Request{Shape: []int64{32, 64, 112, 112}, Parameters: map[string]string{"kernel": "3", "stride": "2", "padding": "1"}}

func main() {
	devices.Dispatch() // runs the worker, if another process started this one as a worker
	ctx, file := context.Background(), os.Args[1]

	// Search for the fastest kernel of a layer on this machine's first GPU.
	op := must(operator.Find("max_pool2d"))
	opener := devices.NewOpener(devices.Spec{Kind: device.CUDA}, devices.Options{})
	defer opener.Close()
	on := must(opener.Open(ctx, op, layer))
	found := must(tuner.Search(ctx, on.Problem, on.Device, tuner.Options{Time: 3 * time.Second}))
	winner := must(cudasource.Of(bestconfig.FromRecord(found.Record), op, on.Problem.Limits, "library"))

	// Pack the search's winner.
	packed := must(packer.Make(ctx, on.Device.Compiler(), []cudasource.Winner{winner}, nil, packer.Options{Name: "layers"}))
	check(packed.Write(file))

	// Launch the kernel from the pack on tensors of zeros. A program that only launches packed kernels needs no search.
	plan := must(must(pack.Open(file)).On(must(pack.CUDA(0))).Plan("max_pool2d", layer.Shape, layer.Parameters, ""))
	runtime.LockOSThread() // a CUDA context belongs to a thread
	check(cu.SetCurrentContext(must(cu.Device(0).RetainPrimaryCtx())))
	var pointers []pack.Pointer
	for _, t := range plan.Tensors {
		memory := must(cu.MemAlloc(t.Bytes))
		check(cu.MemsetD8(memory, 0, t.Bytes))
		pointers = append(pointers, pack.Pointer(memory))
	}
	check(plan.Launch(0, pointers...))
	check(cu.Synchronize())
	fmt.Printf("%s: %s takes %.4f ms\n", found.Problem, found.Winner.Configuration, found.Winner.Time.Median)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
