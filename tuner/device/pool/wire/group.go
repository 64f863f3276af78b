package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"autotune/tuner/device"
)

// Group names the workers whose numbers may be compared: of one kind and model, with
// one driver and one compiler.
func Group(info device.Info, arch string) string {
	limits := info.Limits
	limits.MemoryBytes = 0 // differs a little from one GPU of a model to the next
	text, _ := json.Marshal([]any{info.Kind, info.Name, info.Driver, info.Compiler, arch, limits})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// ObjectName is what an object of these contents is called.
func ObjectName(kind string, contents []byte) string {
	return fmt.Sprintf("%s-%x", kind, sha256.Sum256(contents))
}

// BundleKind is of the names of operators' bundles.
const BundleKind = "bundle"

// DataBytes is how much the data files of an operator may take together.
const DataBytes = 1 << 30

// DataName is what a data file is called whose contents have this digest.
func DataName(digest string) string { return "data-" + digest }

// BinaryName is what the binary is called that a group makes of a kernel.
func BinaryName(group, file, digest string) string {
	return ObjectName("binary", []byte(group+" "+file+" "+digest))
}
