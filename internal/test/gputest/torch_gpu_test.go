//go:build cuda && gpu

package gputest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/elements"
	"autotune/device/gpu"
	"autotune/operator"
)

// torchCases is a folder for scripts/torch_check.py: for each problem a JSON
// file and the compiled reference, for all of them the kernel that fills inputs.
type torchCases struct {
	folder  string
	numbers map[string]int // that the generator knows distributions by
}

// torchCase is one problem's JSON file.
type torchCase struct {
	Operator      string              `json:"operator"`
	Problem       string              `json:"problem"`
	Shape         []int64             `json:"shape"`
	Parameters    map[string]string   `json:"parameters"`
	Math          string              `json:"math"`
	Tensors       []operator.Argument `json:"tensors"`
	ATol          float64             `json:"atol"`
	RTol          float64             `json:"rtol"`
	Entry         string              `json:"entry"`
	Launches      operator.Launches   `json:"launch"`
	Seed          uint32              `json:"seed"`
	Distributions map[string]int      `json:"distributions"` // the numbers that the generator knows them by
	Weights       int                 `json:"weights"`       // likewise, the distribution of weights
}

// newTorchCases prepares the folder; none without a name.
func newTorchCases(ctx context.Context, d device.Device, folder string) (*torchCases, error) {
	if folder == "" {
		return nil, nil
	}
	generator, numbers := generatorOfInputs()
	b, err := d.Compiler().Compile(ctx, compile.Request{Kernel: generator, Arch: d.Arch()})
	if err != nil {
		return nil, fmt.Errorf("compile the generator of inputs: %w", err)
	}
	c := &torchCases{folder, numbers}
	return c, c.write("generator.cubin", b.Code)
}

// add leaves a problem and its reference in the folder.
func (c *torchCases) add(p *operator.Problem, k operator.Kernel, reference *compile.Binary, name string) error {
	if c == nil {
		return nil
	}
	about := torchCase{
		Operator: p.Operator.Name, Problem: p.String(), Shape: p.Shape, Parameters: map[string]string{}, Math: p.Math, Tensors: p.Arguments,
		ATol: p.Output().ATol, RTol: p.Output().RTol, Entry: reference.Symbol(k.Launches[0].Entry), Launches: k.Launches,
		Seed: device.DefaultProtocol().Seed, Distributions: map[string]int{}, Weights: c.numbers["symmetric"],
	}
	for _, parameter := range p.Parameters {
		about.Parameters[parameter.Name] = parameter.Value
	}
	for _, distribution := range distributions(p, false) {
		about.Distributions[distribution] = c.numbers[distribution]
	}
	text, err := json.MarshalIndent(about, "", " ")
	if err != nil {
		return err
	}
	if err := c.write(name+".cubin", reference.Code); err != nil {
		return err
	}
	return c.write(name+".json", text)
}

func (c *torchCases) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(c.folder, name), data, 0o644)
}

// generatorOfInputs is the kernel that fills tensors of f32, for PyTorch to have the same numbers. It also gives the
// number that stands for each distribution in the kernel's arguments; weights are "symmetric". It is launched on any
// number of blocks of one dimension, on aligned memory:
//
//	fill(float* data, unsigned long long count, unsigned seed, int distribution, float scale)
//
// The seed of tensor t of a problem is the protocol's plus t.
func generatorOfInputs() (operator.Kernel, map[string]int) {
	numbers := map[string]int{}
	for i, d := range operator.Distributions() {
		numbers[d] = i
	}
	// A weight has a fill whatever the search's inputs are.
	weight, _ := elements.FillOf(operator.Argument{Role: operator.Weight, Type: operator.F32}, "", 0)
	numbers["symmetric"] = weight.Distribution
	k := gpu.Kernels(nil)[0]
	k.Launches = operator.Launches{{Entry: "fill"}}
	return k, numbers
}
