package export

import (
	"context"
	"io"

	"autotune/reports"
)

var csv = Format{
	Name: "csv", Summary: "a table of the winner or, with --all, of every trial", Trials: Asked,
	Write: func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
		return nil, reports.WriteTrialsCSV(out, w.Best, w.Trials)
	},
}

var markdown = Format{
	Name: "md", Summary: "that table in Markdown", Trials: Asked,
	Write: func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
		return nil, reports.WriteTrialsMarkdown(out, w.Best, w.Trials)
	},
}
