package batch

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

	"autotune/internal/input"
	"autotune/internal/output"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
)

// Run is a folder with a best-config document of each problem whose search has ended.
// Such a problem is not searched again.
type Run struct{ folder string }

var runForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)

// OpenRun opens the run of that name among those of a folder, or begins it.
func OpenRun(folder, name string) (*Run, error) {
	if !runForm.MatchString(name) {
		return nil, errors.New("letters, digits, -, _ and . are allowed, 100 at most")
	}
	r := &Run{filepath.Join(folder, name)}
	return r, os.MkdirAll(r.folder, 0o755)
}

// path is where the document of a search is. Its name depends on all that distinguishes searches.
func (r *Run) path(opened *devices.Opened, o tuner.Options) string {
	p := opened.Problem
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v", p, o.Only, opened.Device.Info().Name, o.Conditions))
	return filepath.Join(r.folder, fmt.Sprintf("%s-%x.json", p.Operator.Name, key[:8]))
}

// found is the winner of a problem that was searched before with the kernels and the
// reference of today.
func (r *Run) found(ctx context.Context, opened *devices.Opened, o tuner.Options) (best bestconfig.Document, known bool, err error) {
	if r == nil {
		return best, false, nil
	}
	best, err = input.File(ctx, r.path(opened, o), bestconfig.Read)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return best, false, nil
	case err != nil:
		return best, false, fmt.Errorf("%w; without the file its problem is searched again", err)
	}
	reference, err := opened.Problem.ReferenceDigest()
	if err != nil {
		return best, false, err
	}
	k, err := opened.Problem.Kernel(best.Configuration)
	return best, err == nil && reference == best.ReferenceDigest && strings.HasPrefix(k.Digest(), best.KernelDigest), nil
}

// keep keeps a winner.
func (r *Run) keep(opened *devices.Opened, o tuner.Options, best bestconfig.Document) error {
	if r == nil {
		return nil
	}
	if err := output.To(r.path(opened, o), best.WriteJSON); err != nil {
		return Keeping(fmt.Errorf("keep what the run has found: %w", err))
	}
	return nil
}
