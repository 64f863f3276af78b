// Package torchvectors reads PyTorch's results for small problems, with which tests compare kernels.
// scripts/torch_vectors.py writes the files. Only tests import package torchvectors.
package torchvectors

import (
	"compress/gzip"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// Vectors are the problems of an operator with the results that one release of PyTorch computed.
type Vectors struct {
	Operator string
	Torch    string
	Cases    []Case
}

// Case is a problem with the values of its tensors.
type Case struct {
	Name       string
	Shape      []int64
	Parameters map[string]string
	Math       string
	Inputs     map[string]Floats
	Output     struct {
		Shape []int64
		Data  Floats
	}
}

// Floats is a list of float32 that files store as little-endian bytes in base64.
type Floats []float32

// UnmarshalText decodes the list from base64.
func (f *Floats) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	*f = make(Floats, len(data)/4)
	_, err = binary.Decode(data, binary.LittleEndian, *f)
	return err
}

//go:embed testdata
var files embed.FS

// Of reads PyTorch's results for a built-in operator.
func Of(operator string) (Vectors, error) {
	var v Vectors
	name := "testdata/" + operator + ".json.gz"
	file, err := files.Open(name)
	if err != nil {
		return v, fmt.Errorf("%w: scripts/torch_vectors.py writes it", err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err == nil {
		err = json.NewDecoder(unpacked).Decode(&v)
	}
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}
