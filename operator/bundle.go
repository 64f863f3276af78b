package operator

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
)

const BundleBytes = 4 << 20

// Bundle packs all files that the operator was read from, shared files included, into an archive. LoadBundle loads the
// operator from the archive on another machine. For the same files, Bundle makes the same archive, byte for byte.
func (o *Operator) Bundle() ([]byte, error) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, name := range slices.Sorted(maps.Keys(o.files)) {
		f, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(f, o.files[name])
		}
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", o.Name, err)
		}
	}
	err := errors.Join(w.SetComment(path.Base(o.File)), w.Close())
	if err == nil && archive.Len() > BundleBytes {
		err = fmt.Errorf("its files have %d bytes, packed; %d are the most", archive.Len(), BundleBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", o.Name, err)
	}
	return archive.Bytes(), nil
}

// LoadBundle loads an operator from a Bundle, which may be hostile.
func LoadBundle(archive []byte) (*Operator, error) {
	if len(archive) > BundleBytes {
		return nil, fmt.Errorf("a bundle of %d bytes; %d are the most", len(archive), BundleBytes)
	}
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("a bundle that is no archive: %w", err)
	}
	if r.Comment == "op.yaml" {
		return Load(r, ".")
	}
	if !fileForm.MatchString(r.Comment) {
		return nil, fmt.Errorf("a bundle names no description: %.40q", r.Comment)
	}
	return LoadFile(r, ".", r.Comment)
}
