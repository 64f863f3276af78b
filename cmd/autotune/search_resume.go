package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"autotune/internal/output"
	"autotune/reports"
	"autotune/tuner"
	"autotune/tuner/devices"
)

// namedRun is what --run names: a folder with a best-config document of each problem
// whose search has ended. Such a problem is not searched again.
type namedRun struct{ dir string }

var runForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// openRun opens the run of a name; nil without a name.
func openRun(name string) (*namedRun, error) {
	if name == "" {
		return nil, nil
	}
	if !runForm.MatchString(name) {
		return nil, badInput(fmt.Errorf("--run %s: letters, digits, -, _ and . are allowed, 100 at most", name))
	}
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	r := &namedRun{filepath.Join(dir, "runs", name)}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, badInput(fmt.Errorf("--run %s: %w", name, err))
	}
	return r, nil
}

// path is where the document of a search is: its name is of all that makes another search
// of it.
func (r *namedRun) path(opened *devices.Opened, o tuner.Options) string {
	p := opened.Problem
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %v", p, p.Restriction, opened.Device.Info().Name, o.Objective, o.Conditions))
	return filepath.Join(r.dir, fmt.Sprintf("%s-%x.json", p.Operator.Name, key[:8]))
}

// found is the winner of a problem that was searched before with the kernels and the
// reference of today.
func (r *namedRun) found(ctx context.Context, opened *devices.Opened, o tuner.Options) (best reports.BestConfig, known bool, err error) {
	if r == nil {
		return best, false, nil
	}
	path := r.path(opened, o)
	list, err := readBests(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return best, false, nil
	case err != nil:
		return best, false, badInput(fmt.Errorf("%w; without the file its problem is searched again", err))
	}
	best = list[0]
	reference, err := opened.Problem.ReferenceDigest()
	if err != nil {
		return best, false, err
	}
	k, err := opened.Problem.Kernel(best.Configuration)
	return best, err == nil && reference == best.ReferenceDigest && strings.HasPrefix(k.Digest(), best.KernelDigest), nil
}

// keep keeps a winner, in a run that has a name.
func (r *namedRun) keep(opened *devices.Opened, o tuner.Options, best reports.BestConfig) error {
	if r == nil {
		return nil
	}
	if err := output.To(r.path(opened, o), best.WriteJSON); err != nil {
		return fmt.Errorf("keep what the run has found: %w", err)
	}
	return nil
}
