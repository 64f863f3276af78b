package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"autotune/tuner/device"
)

// ProblemID names a problem on a device.
type ProblemID struct {
	Problem string      `json:"problem"` // canonical, as operator.Problem prints it: operator first
	Device  string      `json:"device"`  // "NVIDIA H100 80GB HBM3"
	Kind    device.Kind `json:"kind"`
}

// Operator is the first word of the problem.
func (id ProblemID) Operator() string {
	operator, _, _ := strings.Cut(id.Problem, " ")
	return operator
}

func (id ProblemID) String() string {
	return fmt.Sprintf("%s on %s (%s)", id.Problem, id.Device, id.Kind)
}

const keySeparator = "\x00"

func (id ProblemID) key() ([]byte, error) {
	for _, part := range []string{id.Problem, id.Device, string(id.Kind)} {
		if strings.Contains(part, keySeparator) {
			return nil, fmt.Errorf("%q holds a zero byte", part)
		}
	}
	if id.Problem == "" {
		return nil, errors.New("a problem without a name")
	}
	return []byte(strings.Join([]string{string(id.Kind), id.Device, id.Problem}, keySeparator)), nil
}

func parseKey(key []byte) (ProblemID, error) {
	parts := strings.Split(string(key), keySeparator)
	if len(parts) != 3 {
		return ProblemID{}, fmt.Errorf("%q does not name a problem", key)
	}
	return ProblemID{Kind: device.Kind(parts[0]), Device: parts[1], Problem: parts[2]}, nil
}

// Provenance is all that a trial's outcome depends on.
type Provenance struct {
	KernelDigest    string          `json:"kernel_digest"`    // source, includes, macros
	ReferenceDigest string          `json:"reference_digest"` // what it was verified against
	Arch            string          `json:"arch"`
	Compiler        string          `json:"compiler"`
	Driver          string          `json:"driver,omitempty"`
	Device          string          `json:"device"`
	Protocol        device.Protocol `json:"protocol"`
}

// Key is the digest under which a trial of that provenance is kept.
func (p Provenance) Key() string {
	raw, err := json.Marshal(p)
	if err != nil {
		// Only a protocol with a number that JSON lacks (NaN) comes here; Go's
		// own notation tells such provenances apart as well.
		raw = fmt.Appendf(nil, "%#v", p)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
