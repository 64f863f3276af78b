package batch_test

import (
	"context"
	"fmt"
	"log"

	"autotune/device"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/batch"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
)

// Two problems are searched, one after the other. Recordings answer here;
// devices.Spec{Kind: device.CUDA} searches on a GPU.
func Example() {
	var problems []batch.Request
	for name, shape := range map[string][]int64{"avg_pool1d": {64, 128, 65536}, "avg_pool2d": {16, 64, 2048, 2048}} {
		op, err := operator.Find(name)
		if err != nil {
			log.Fatal(err)
		}
		problems = append(problems, batch.Request{Name: name, Operator: op, Request: operator.Request{Shape: shape}})
	}
	opener := devices.NewOpener(devices.Spec{Kind: device.Replay}, devices.Options{})
	defer opener.Close()
	err := batch.Search(context.Background(), opener, problems, batch.Options{
		Search: tuner.Options{Seed: 1, Budget: 50},
		Found: func(r batch.Request, t *tuner.Result, b bestconfig.Document) error {
			fmt.Printf("%s: %d trials, template %s on %s\n", r, len(t.Trials), b.Template, b.Device.Name)
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// avg_pool1d 64x128x65536: 50 trials, template slide on NVIDIA H100 80GB HBM3
	// avg_pool2d 16x64x2048x2048: 50 trials, template columns on NVIDIA H100 80GB HBM3
}
