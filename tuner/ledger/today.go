package ledger

import (
	"encoding/json"

	"autotune/operator"
	"autotune/space"
	"autotune/tuner/store"
)

// Today are the kernels of a space as they are today. Trials of edited kernels are recognised by them before they are
// read.
type Today struct {
	kernel  func(space.Configuration) (operator.Kernel, error)
	space   *space.Space
	digests map[string]string // of kernels, by the configuration as a trial has it; "": there is none
}

// NewToday is of the kernels that are made of a space's configurations.
func NewToday(kernel func(space.Configuration) (operator.Kernel, error), sp *space.Space) *Today {
	return &Today{kernel: kernel, space: sp, digests: map[string]string{}}
}

// Has tells whether a trial is of a kernel as it is today. One that does not tell may be.
func (t *Today) Has(h store.Head) bool {
	if t == nil || h.Configuration == "" || h.KernelDigest == "" {
		return true
	}
	digest, known := t.digests[h.Configuration]
	if !known {
		digest = t.digestOf(h.Configuration)
		t.digests[h.Configuration] = digest
	}
	return digest == h.KernelDigest
}

func (t *Today) digestOf(text string) string {
	var c space.Configuration
	if json.Unmarshal([]byte(text), &c) != nil {
		return ""
	}
	id, ok := t.space.Index(c)
	if !ok {
		return ""
	}
	k, err := t.kernel(t.space.At(id))
	if err != nil {
		return ""
	}
	return k.Digest()
}
