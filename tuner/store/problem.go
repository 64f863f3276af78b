package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"autotune/device"
)

// ProblemID names a problem on a device together with the conditions of timing, since each set of conditions has its
// own winner.
type ProblemID struct {
	Problem    string            `json:"problem"` // as operator.Problem prints it, with the operator first
	Device     string            `json:"device"`  // "NVIDIA H100 80GB HBM3"
	Kind       device.Kind       `json:"kind"`
	Conditions device.Conditions `json:"conditions,omitzero"`
}

// Operator returns the first word of the problem, which is the operator's name.
func (id ProblemID) Operator() string {
	operator, _, _ := strings.Cut(id.Problem, " ")
	return operator
}

func (id ProblemID) String() string {
	about := string(id.Kind)
	if unusual := id.Conditions.Unusual(); unusual != "" {
		about += ", " + unusual
	}
	return fmt.Sprintf("%s on %s (%s)", id.Problem, id.Device, about)
}

const keySeparator = "\x00"

// key returns the name of the problem's bucket. The key of a problem has three parts if the timing conditions are the
// usual ones.
func (id ProblemID) key() ([]byte, error) {
	parts := []string{string(id.Kind), id.Device, id.Problem, string(id.Conditions.L2), string(id.Conditions.Launch)}
	for _, part := range parts {
		if strings.Contains(part, keySeparator) {
			return nil, fmt.Errorf("%q holds a zero byte", part)
		}
	}
	switch {
	case id.Problem == "":
		return nil, errors.New("a problem without a name")
	case id.Conditions.Usual():
		parts = parts[:3]
	}
	return []byte(strings.Join(parts, keySeparator)), nil
}

func parseKey(key []byte) (ProblemID, error) {
	parts := append(strings.Split(string(key), keySeparator), make([]string, 4)...)
	id := ProblemID{
		Kind: device.Kind(parts[0]), Device: parts[1], Problem: parts[2],
		Conditions: device.Conditions{L2: device.L2State(parts[3]), Launch: device.LaunchForm(parts[4])},
	}
	if again, err := id.key(); err != nil || !bytes.Equal(again, key) || id.Conditions.Check() != nil {
		return ProblemID{}, fmt.Errorf("%q does not name a problem", key)
	}
	return id, nil
}

// Provenance holds everything that a trial's outcome depends on, beside its configuration.
type Provenance struct {
	KernelDigest    string          `json:"kernel_digest"`    // source, includes, macros, flags, launches, workspaces
	ReferenceDigest string          `json:"reference_digest"` // the problem and the reference
	Arch            string          `json:"arch"`
	Compiler        string          `json:"compiler"`
	Driver          string          `json:"driver,omitempty"`
	Device          string          `json:"device"`
	Protocol        device.Protocol `json:"protocol"`
}

// Key returns the digest under which the store keeps a trial with the provenance p.
func (p Provenance) Key() string {
	raw, err := json.Marshal(p)
	if err != nil {
		// A protocol with NaN cannot be marshalled as JSON; Go's notation distinguishes provenances with NaN, too.
		raw = fmt.Appendf(nil, "%#v", p)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
