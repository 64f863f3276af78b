// Package recordings holds searches recorded on real GPUs, embedded in the
// binary, so that a machine without a GPU can replay them.
//
// README.md says how they came about; docs/recordings.md describes the format.
package recordings

import "embed"

// FS holds the recordings, *.json.gz, at its root.
//
// The pattern takes the compressed recordings ("gz") and README.md ("md"):
// embedding fails for a pattern that nothing matches, and this one always
// matches, also while there is no recording.
//
//go:embed *.[gm][zd]
var FS embed.FS
