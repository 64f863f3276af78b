package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/urfave/cli/v2"

	"autotune/reports"
	"autotune/tuner/device/remote/broker"
	"autotune/tuner/device/remote/pool"
)

func workersCommand() *cli.Command {
	return &cli.Command{
		Name:        "workers",
		Usage:       "list the workers at a NATS server",
		Description: "Each with its device, whether it takes jobs, how many it does a second, how long its control took at its start and last, and how many jobs wait for it and its like.",
		Flags:       append(natsFlags(), jsonFlag()),
		Action:      workersAction,
	}
}

// offered is what `workers --json` writes of a worker.
type offered struct {
	Worker    string    `json:"worker"`
	Device    string    `json:"device"`
	Driver    string    `json:"driver,omitempty"`
	Compiler  string    `json:"compiler,omitempty"`
	State     string    `json:"state"`
	Why       string    `json:"why,omitempty"`
	Rate      float64   `json:"rate"` // jobs a second
	Done      int       `json:"done"`
	Compilers int       `json:"compilers"`
	FirstMS   float64   `json:"control_first_ms"`
	LastMS    float64   `json:"control_last_ms"`
	ControlAt time.Time `json:"control_at"`
	Started   time.Time `json:"started_at"`
	Queued    uint64    `json:"queued"`  // jobs of the device that wait for a worker like it
	Running   int       `json:"running"` // that such workers have
}

func workersAction(c *cli.Context) error {
	b, err := connectFor(c, "workers")
	if err != nil {
		return err
	}
	defer b.Close()
	beats, err := pool.Look(c.Context, b)
	if err != nil {
		return err
	}
	all := []offered{}
	for _, w := range beats {
		one := offered{
			Worker: w.Worker, Device: w.Device.Name, Driver: w.Device.Driver, Compiler: w.Device.Compiler, State: string(w.State), Why: w.Why,
			Rate: w.Rate, Done: w.Done, Compilers: w.Compilers, FirstMS: w.Control.FirstMS, LastMS: w.Control.LastMS, ControlAt: w.Control.At, Started: w.Started,
		}
		one.Queued, one.Running = queued(c.Context, b, w.Group)
		all = append(all, one)
	}
	return writeDocument(c, all, func(out io.Writer) error { return workersTable(out, all) })
}

// queued is how many jobs wait for workers of a group, and how many they have.
func queued(ctx context.Context, b *broker.Broker, group string) (waiting uint64, running int) {
	consumer, err := b.Stream.Consumer(ctx, broker.JobStream, broker.EvaluateConsumer(group))
	var info *jetstream.ConsumerInfo
	if err == nil {
		info, err = consumer.Info(ctx)
	}
	if err != nil {
		return 0, 0 // none of them has asked for jobs yet
	}
	return info.NumPending, info.NumAckPending
}

func workersTable(out io.Writer, all []offered) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "no workers; `autotune worker --nats URL` is one")
		return err
	}
	for _, w := range all {
		state := w.State
		if w.Why != "" {
			state += ": " + w.Why
		}
		text := fmt.Sprintf("%s: %s, %s; %.1f jobs/s, %d done; control %s, at its start %s; %d queued, %d running",
			w.Worker, w.Device, state, w.Rate, w.Done, reports.FormatMS(w.LastMS), reports.FormatMS(w.FirstMS), w.Queued, w.Running)
		if _, err := fmt.Fprintln(out, reports.Wrap(text, tableColumns)); err != nil {
			return err
		}
	}
	return nil
}

// tableColumns is what fits any terminal.
const tableColumns = 80
