// Package recordings embeds searches that were recorded on real GPUs, so that a machine without a GPU can replay them.
//
// README.md says how the recordings were made; docs/recordings.md describes their format.
package recordings

import "embed"

// FS holds the recordings, *.json.gz, at its root.
//
// The pattern for embedding matches the compressed recordings ("gz") and README.md ("md"), because embedding fails for
// a pattern without a match, even while there is no recording.
//
//go:embed *.[gm][zd]
var FS embed.FS
