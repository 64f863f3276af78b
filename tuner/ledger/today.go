package ledger

import (
	"encoding/json"

	"autotune/operator"
	"autotune/space"
	"autotune/tuner/store"
)

// Today are the kernels of a problem as they are today, by which trials of edited ones are told before they are read.
type Today struct {
	problem *operator.Problem
	space   *space.Space
	digests map[string]string // of kernels, by the configuration as a trial has it; "": there is none
}

// NewToday is of the kernels that a problem's space has.
func NewToday(p *operator.Problem, sp *space.Space) *Today {
	return &Today{problem: p, space: sp, digests: map[string]string{}}
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
	k, err := t.problem.Kernel(t.space.At(id))
	if err != nil {
		return ""
	}
	return k.Digest()
}
