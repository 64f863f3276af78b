// Package reports turns the outcome of a search into things for people and for
// other programs: the best-config document, the table that a search ends with,
// and plots.
//
// BestConfig is the centre. It is plain data: the engine fills one in, WriteJSON
// and ReadBestConfig carry it to and from files, and Table, SpeedupPlot and
// SummaryPlot show it. ProgressPlot also wants the trials. A search that found
// no valid variant has a BestConfig too, without a template: it cannot be
// written as a document, but the table and the progress plot show it.
//
// Everything is written to an io.Writer; ToFile gives one that becomes a file
// only when all of it was written.
package reports

import (
	"fmt"
	"io"

	"github.com/google/renameio/v2"
)

// ToFile writes a file that appears whole or not at all.
func ToFile(path string, write func(io.Writer) error) (err error) {
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer file.Cleanup()
	if err := write(file); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}
