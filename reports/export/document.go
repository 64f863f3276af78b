package export

import (
	"context"
	"io"
)

var document = Format{Name: "json", Summary: "the best configuration with its evidence", Write: func(_ context.Context, out io.Writer, w Winner) ([]string, error) {
	return nil, w.Best.WriteJSON(out)
}}
