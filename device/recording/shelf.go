package recording

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"autotune/device"
	"autotune/operator"
	"autotune/recordings"
)

// Entry is a recording in a file system, of which only the metadata has been read.
type Entry struct {
	Name     string // for LoadFS
	Metadata Metadata
}

func Shipped() fs.FS { return recordings.FS }

// FileName returns the name under which a recording is shipped: the GPU, the operator, the shape, the math mode and a
// hash. The hash in a recording's file name consists of the first digits of the SHA-256 of the problem's text, followed
// by the flags of any unusual conditions.
func FileName(m Metadata) string {
	p := m.Problem
	gpu := slug(strings.TrimPrefix(strings.ToLower(m.Device.Name), "nvidia "))
	hash := sha256.Sum256([]byte(p.Text + m.Protocol.Conditions.Flags()))
	return fmt.Sprintf("%s-%s-%s-%s-%x.json.gz", gpu, p.Operator, operator.FormatShape(p.Shape), p.Math, hash[:4])
}

// ErrNotFound means that there is no recording of exactly this problem.
var ErrNotFound = errors.New("no recording of exactly this problem")

// FindRequest finds a recording of exactly the requested problem, among the recordings of devices for which wanted
// returns true; a nil wanted accepts all devices. The returned problem is bound with the limits of the recorded GPU,
// since these limits decide what "auto" means on a machine without a GPU. If several recordings match, FindRequest
// returns the one from the newest GPU architecture, and among those the latest. Recordings made under unusual
// conditions are skipped; they can be opened only by their file's name.
func FindRequest(fsys fs.FS, op *operator.Operator, r operator.Request, wanted func(device.Info) bool) (Entry, *operator.Problem, error) {
	entries, err := list(fsys, func(name string) bool { return strings.Contains(name, "-"+op.Name+"-") })
	if err != nil {
		return Entry{}, nil, err
	}
	for _, e := range entries {
		if !slices.Equal(e.Metadata.Problem.Shape, r.Shape) || wanted != nil && !wanted(e.Metadata.Device) || !e.Metadata.Protocol.Conditions.Usual() {
			continue
		}
		// An error of Bind is ignored: the caller binds the request again and reports the error then.
		problem, err := op.Bind(r, e.Metadata.Device.Limits)
		if err == nil && problem.String() == e.Metadata.Problem.Text {
			return e, problem, nil
		}
	}
	return Entry{}, nil, fmt.Errorf("%w: %s", ErrNotFound, op.Name)
}

// List lists all recordings of a file system in the order of preference of FindRequest.
func List(fsys fs.FS) ([]Entry, error) {
	return list(fsys, func(string) bool { return true })
}

func list(fsys fs.FS, wanted func(name string) bool) ([]Entry, error) {
	names, err := fs.Glob(fsys, "*.json.gz")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, name := range names {
		if !wanted(name) {
			continue
		}
		metadata, err := readFS(fsys, name, readMetadata)
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{name, metadata})
	}
	slices.SortFunc(entries, preferred)
	return entries, nil
}

// preferred orders recordings by newer GPU architecture, then by the GPU's name (which puts the more common H100 before
// the H200), then by later date.
func preferred(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(b.Metadata.Device.Limits.Arch, a.Metadata.Device.Limits.Arch),
		strings.Compare(a.Metadata.Device.Name, b.Metadata.Device.Name),
		b.Metadata.RecordedAt.Compare(a.Metadata.RecordedAt),
		strings.Compare(a.Name, b.Name),
	)
}

func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
	return strings.Join(words, "-")
}
