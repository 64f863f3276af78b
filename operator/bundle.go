package operator

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
)

const BundleBytes = 4 << 20

// Bundle has all files that the operator was read from, shared ones too, but not its data files.
// Elsewhere LoadBundle makes the same operator of it. The same files give the same bundle.
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

// bundled are the files of a bundle, and beside them the data files.
type bundled struct {
	files *zip.Reader
	data  fs.FS
}

func (b bundled) Open(name string) (fs.File, error) {
	if path.Ext(name) == ".npy" {
		return b.data.Open(name)
	}
	return b.files.Open(name)
}

// LoadBundle reads an operator from a Bundle, which may hold anything. Its data files are where data has them.
func LoadBundle(archive []byte, data fs.FS) (*Operator, error) {
	if len(archive) > BundleBytes {
		return nil, fmt.Errorf("a bundle of %d bytes; %d are the most", len(archive), BundleBytes)
	}
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("a bundle that is no archive: %w", err)
	}
	if r.Comment == "op.yaml" {
		return Load(bundled{r, data}, ".")
	}
	if !fileForm.MatchString(r.Comment) {
		return nil, fmt.Errorf("a bundle names no description: %.40q", r.Comment)
	}
	return LoadFile(bundled{r, data}, ".", r.Comment)
}
