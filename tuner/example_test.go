package tuner_test

import (
	"context"
	"fmt"

	"autotune/device/recording"
	"autotune/operator"
	"autotune/tuner"
)

// Search needs a problem and a device. The device in this example replays a recording, so the search takes a moment
// and needs no GPU.
func ExampleSearch() {
	recorded, err := recording.LoadFS(recording.Shipped(), "h200-avg_pool1d-64x128x65536-fp32-3e9e8d25.json.gz")
	if err != nil {
		fmt.Println(err)
		return
	}
	op, err := operator.Find("avg_pool1d")
	if err != nil {
		fmt.Println(err)
		return
	}
	problem, err := op.Bind(recorded.Metadata.Problem.Request(), recorded.Metadata.Device.Limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := tuner.Search(context.Background(), problem, recording.Replay(recorded), tuner.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	winner := result.Winner
	fmt.Println(result.Problem)
	fmt.Printf("%d of %d tried, %s\n", result.Total, result.Valid, result.Stop)
	fmt.Println(winner.Configuration)
	fmt.Printf("%.3f ms, %.2fx over the default\n", winner.Time.Median, result.Default.Time.Median/winner.Time.Median)
	// Output:
	// avg_pool1d 64x128x65536 kernel=8 stride=1 padding=4 ceil_mode=false count_include_pad=true
	// 368 of 368 tried, exhausted
	// slide threads=128 vec=4 chunks=1 stage=0 streaming=0
	// 1.003 ms, 1.79x over the default
}
