package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Head is what a kept trial tells without being decoded, which takes much longer: a cache may hold a hundred thousand
// trials of kernels that were edited since. Texts that cannot be told so are empty.
type Head struct {
	Key           string // of its provenance
	KernelDigest  string
	Configuration string // as JSON
}

// Where a trial's bytes have what a Head tells. Quotes in texts are escaped, so that none looks like these.
const (
	headDigest = `{"provenance":{"kernel_digest":"`
	headTrial  = `"trial":{"template":`
	headLaunch = `,"launch":`
	headMacros = `,"macros":`
)

func headOf(key, raw []byte) Head {
	h := Head{Key: string(key)}
	body, ok := bytes.CutPrefix(raw[min(sumSize, len(raw)):], []byte(headDigest))
	digest, rest, ended := bytes.Cut(body, []byte(`"`))
	if !ok || !ended || bytes.IndexByte(digest, '\\') >= 0 {
		return h
	}
	h.KernelDigest = string(digest)
	if _, trial, found := bytes.Cut(rest, []byte(headTrial)); found {
		end := bytes.Index(trial, []byte(headLaunch))
		if at := bytes.Index(trial[:max(end, 0)], []byte(headMacros)); at >= 0 {
			end = at
		}
		if end >= 0 {
			h.Configuration = `{"template":` + string(trial[:end]) + "}"
		}
	}
	return h
}

// Keys gives the keys of provenances that differ from p in their kernels alone, faster than Key does.
func (p Provenance) Keys() func(kernelDigest string) string {
	p.KernelDigest = ""
	raw, err := json.Marshal(p)
	rest, ok := bytes.CutPrefix(raw, []byte(`{"kernel_digest":"`))
	return func(digest string) string {
		if err != nil || !ok || strings.Trim(digest, "0123456789abcdef") != "" {
			p.KernelDigest = digest
			return p.Key()
		}
		sum := sha256.Sum256([]byte(`{"kernel_digest":"` + digest + string(rest)))
		return hex.EncodeToString(sum[:])
	}
}
