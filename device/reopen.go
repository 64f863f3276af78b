package device

import (
	"context"
	"errors"

	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
)

// ErrLost means that this process can no longer use a device: its context is gone, with all of its memory. Another
// process may open it anew. An Outcome beside such an error counts if it has a Status.
var ErrLost = errors.New("the device's context is lost")

// Reopener is a Device that can open a problem whose ceilings are known, without measuring them again.
type Reopener interface {
	Reopen(ctx context.Context, p *operator.Problem, reference *compile.Binary, proto Protocol, known Ceilings) (Session, error)
}

// Launcher is a Device that can launch a variant once on the operator's inputs, without checking
// its results: for a program that watches the launch.
type Launcher interface {
	Launch(ctx context.Context, p *operator.Problem, proto Protocol, v Variant) (trial.Outcome, error)
}
