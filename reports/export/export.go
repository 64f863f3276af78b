// Package export writes winners for other programs. A format is a Format and its name in
// Formats.
package export

import (
	"context"
	"io"
	"strings"

	"autotune/device/trial"
	"autotune/internal/lists"
	"autotune/tuner/bestconfig"
	"autotune/tuner/cudasource"
)

// Formats are all formats.
var Formats = []Format{cu, cubin, ptx, header, document, torch, csv, markdown, solutionDocument}

// Format is a form in which other programs read a winner.
type Format struct {
	Name    string
	Summary string // what is written, for the help page
	Trials  Trials
	// Write writes a winner. The notes say what the format has no place for.
	Write func(ctx context.Context, out io.Writer, w Winner) (notes []string, err error)
}

// Trials says whether a format has all trials of a problem.
type Trials int

// A format has the winner alone, or all trials too where they are asked for, or always.
const (
	Never Trials = iota
	Asked
	Always
)

// Winner is what is written.
type Winner struct {
	Best   bestconfig.Document
	Trials []trial.Trial // all of the problem, where the format has them
	Path   string        // of the file; "-": standard output
	Force  bool          // a file beside it may replace one that is no export
	Kernel func() (cudasource.Winner, error)
}

// Names lists the formats.
func Names() []string {
	return lists.Of(Formats, func(f Format) string { return f.Name })
}

// Summary says what each format is.
func Summary() string {
	all := lists.Of(Formats, func(f Format) string { return f.Name + ", " + f.Summary })
	return strings.Join(all, "; ")
}
