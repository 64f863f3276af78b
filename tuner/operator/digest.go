package operator

import (
	"crypto/sha256"
	"encoding/hex"
)

// SourceDigest identifies the sources of all of the operator's kernels, the
// reference's too: it tells two folders with operators of one name apart, and an
// operator from what it was before an edit.
func (o *Operator) SourceDigest() string {
	h := sha256.New()
	put := func(name string, s Source) {
		digest := Kernel{Template: name, Launches: Launches{{Entry: name}}, Source: s.Text, Includes: s.Includes}.Digest()
		h.Write([]byte(digest)) // a hash's Write does not fail
	}
	put("reference", o.Reference)
	for _, t := range o.Templates {
		put(t.Name, t.Source)
	}
	return hex.EncodeToString(h.Sum(nil))
}
