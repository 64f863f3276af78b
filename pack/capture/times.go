package capture

import (
	"context"
	"encoding/json"
	"fmt"

	"autotune/operator"
)

// ProgramTimes are milliseconds of a forward pass, by how the model is run: "eager", "graph" (a CUDA graph of eager),
// "compile" (torch.compile) and "compile in a graph".
type ProgramTimes struct {
	Device string             `json:"device"`
	Before map[string]float64 `json:"before"`
	Left   map[string]string  `json:"left"` // why a way has no time
	After  []Replacement      `json:"after"`
}

// Replacement is what was measured of a file with ModelNew.
type Replacement struct {
	Times    map[string]float64 `json:"times"`
	Distance float64            `json:"distance"` // of the outputs from Model's, as a part of their spread
	Faster   float64            `json:"faster"`   // the fastest way of Model over the fastest of ModelNew, taken in turns
	Interval [2]float64         `json:"interval"` // of Faster, at 95 %
	Fault    string             `json:"fault"`    // why there are no times
}

// Pays tells whether the replacement is faster than the model in every way that the model was run.
func (r Replacement) Pays() bool { return r.Fault == "" && r.Interval[0] > 1 }

// Best is the fastest way of those that were timed.
func Best(times map[string]float64) (way string) {
	for name, t := range times {
		if way == "" || t < times[way] || t == times[way] && name < way {
			way = name
		}
	}
	return way
}

// TimeProgram times a program's Model on the machine's GPU, in turns with the ModelNew of each of the other files.
func TimeProgram(ctx context.Context, tool string, operators []*operator.Operator, file string,
	news ...string) (*ProgramTimes, error) {
	answer, err := runModule(ctx, tool, operators, "program", file, news...)
	if err != nil {
		return nil, err
	}
	var times ProgramTimes
	if err := json.Unmarshal(answer, &times); err != nil || len(times.After) != len(news) {
		return nil, fmt.Errorf("python3 timed %s, and its answer cannot be read: %v", file, err)
	}
	return &times, nil
}
