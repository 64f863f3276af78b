package wire_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"testing"

	"autotune/internal/worker"
	"autotune/space/expr"
	"autotune/tuner/device"
	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/device/elements"
	"autotune/tuner/operator"
)

// Whatever comes down the pipe, either side ends with an error or reads a message.
func FuzzMessages(f *testing.F) {
	for _, q := range []wire.Request{
		{Describe: true},
		{Session: 1, Close: true},
		{Session: 2, Open: &wire.Open{Arguments: []operator.Argument{{Name: "x", Value: expr.Int(3)}}, Reference: wire.Image{Code: []byte("code"), Launches: []wire.Launch{{Symbol: "k", Passed: []int{0}}}}}},
		{Session: 2, Evaluate: &wire.Evaluate{Best: 1}, Check: &wire.Check{Check: device.Check{Launches: 3}}, Refill: &wire.Refill{Fills: []elements.Fill{{Seed: 1}}}},
	} {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(struct{ Body wire.Request }{q}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		_ = worker.Serve(context.Background(), bytes.NewReader(data), io.Discard, func(context.Context, wire.Request) (wire.Response, error) {
			return wire.Response{}, errors.New("refused")
		})
		_ = worker.Serve(context.Background(), bytes.NewReader(data), io.Discard, func(context.Context, wire.Response) (wire.Request, error) {
			return wire.Request{}, nil
		})
	})
}
