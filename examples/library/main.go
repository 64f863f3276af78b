//go:build cuda

// Command library is a program that searches, packs what won, and launches it from the pack:
//
//	library layers.zip
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"
	"time"

	"gorgonia.org/cu"

	"autotune/pack"
	"autotune/pack/packer"
	"autotune/reports"
	"autotune/reports/cudasource"
	"autotune/tuner"
	"autotune/tuner/compile"
	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/operator"
)

var layer = operator.Request{Shape: []int64{32, 64, 112, 112}, Parameters: map[string]string{"kernel": "3", "stride": "2", "padding": "1"}}

func main() {
	devices.Dispatch()
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// run searches a layer on this machine's first GPU, and launches its winner from a pack.
func run(ctx context.Context, file string) error {
	op, err := operator.Find("max_pool2d")
	if err != nil {
		return err
	}
	opener := devices.NewOpener(devices.Spec{Kind: device.CUDA}, devices.Options{})
	defer opener.Close()
	opened, err := opener.Open(ctx, op, layer)
	if err != nil {
		return err
	}
	result, err := tuner.Search(ctx, opened.Problem, opened.Device, tuner.Options{Time: 3 * time.Second})
	if err != nil {
		return err
	}
	winner, err := cudasource.Of(reports.FromRecord(result.Record), op, opened.Problem.Limits, "library")
	if err != nil {
		return err
	}
	compiler, err := compile.NVRTC(ctx)
	if err != nil {
		return err
	}
	defer compiler.Close()
	packed, err := packer.Make(ctx, compiler, []cudasource.Winner{winner}, nil, packer.Options{Name: "layers"})
	if err != nil {
		return err
	}
	if err := packed.Write(file); err != nil {
		return err
	}
	if err := launch(file); err != nil {
		return err
	}
	fmt.Printf("%s: %s takes %.4f ms\n", result.Problem, result.Winner.Configuration, result.Winner.Time.Median)
	return nil
}

// launch launches the layer from a pack, on zeros.
func launch(file string) error {
	p, err := pack.Open(file)
	if err != nil {
		return err
	}
	gpu, err := pack.CUDA(0)
	if err != nil {
		return err
	}
	plan, err := p.On(gpu).Plan("max_pool2d", layer.Shape, layer.Parameters, "")
	if err != nil {
		return err
	}
	runtime.LockOSThread() // a CUDA context belongs to a thread
	primary, err := cu.Device(0).RetainPrimaryCtx()
	if err != nil {
		return err
	}
	if err := cu.SetCurrentContext(primary); err != nil {
		return err
	}
	var pointers []pack.Pointer
	for _, t := range plan.Tensors {
		memory, err := cu.MemAlloc(t.Bytes)
		if err != nil {
			return err
		}
		defer cu.MemFree(memory)
		if err := cu.MemsetD8(memory, 0, t.Bytes); err != nil {
			return err
		}
		pointers = append(pointers, pack.Pointer(memory))
	}
	if err := plan.Launch(0, pointers...); err != nil {
		return err
	}
	return cu.Synchronize()
}
