package winners

import (
	"context"
	"errors"
	"fmt"

	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/recording"
	"autotune/tuner/store"
)

// Arch is the architecture that the winner and its trials were compiled for.
func (w Kept) Arch() string { return w.kept.Provenance.Arch }

// Imported are a recording's trials as a cache keeps them: those whose kernels are
// today what they were. A recording that does not tell all that its trials depend
// on, or whose reference was edited since, is refused: no search could use them.
func Imported(ctx context.Context, r *recording.Recording, op *operator.Operator) (store.ProblemID, []store.Entry, error) {
	m := r.Metadata
	id := store.ProblemID{Problem: m.Problem.Text, Device: m.Device.Name, Kind: m.Device.Kind, Conditions: m.Protocol.Conditions}
	p, err := op.Bind(m.Problem.Request(), m.Device.Limits)
	if err != nil {
		return id, nil, err
	}
	if p.String() != id.Problem {
		return id, nil, fmt.Errorf("it records %s, which the operator reads as %s today", id.Problem, p)
	}
	reference, err := p.ReferenceDigest()
	if err != nil {
		return id, nil, err
	}
	if err := provenanceKnown(m, reference); err != nil {
		return id, nil, err
	}
	trials, err := Current(ctx, p, r.Trials)
	if err != nil {
		return id, nil, err
	}
	entries := make([]store.Entry, len(trials))
	for i, t := range trials {
		k, err := p.Kernel(t.Configuration)
		if err != nil {
			return id, nil, err
		}
		t.KernelDigest = k.Digest() // a recording has its first digits
		entries[i] = store.Entry{Trial: t, Provenance: store.Provenance{
			KernelDigest: t.KernelDigest, ReferenceDigest: m.ReferenceDigest, Arch: m.Arch, Compiler: m.Device.Compiler,
			Driver: m.Device.Driver, Device: m.Device.Name, Protocol: m.Protocol,
		}}
	}
	return id, entries, nil
}

// provenanceKnown tells what a recording lacks for its trials to be remembered.
func provenanceKnown(m recording.Metadata, reference string) error {
	switch {
	case !m.Device.Kind.Properties().Persists:
		return fmt.Errorf("the cache keeps nothing of a device of the kind %q", m.Device.Kind)
	case m.ReferenceDigest == "" || m.Arch == "":
		return errors.New("it does not say which reference its trials were verified against, or what they were compiled for; `autotune cache export` writes both")
	case m.Device.Compiler == "" || m.Protocol == device.Protocol{}:
		return errors.New("it does not say which compiler or protocol its trials are of")
	case m.ReferenceDigest != reference:
		return fmt.Errorf("the reference of %s was edited since", m.Problem.Operator)
	}
	return nil
}
