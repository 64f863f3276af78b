package webpage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Live is what a page tells of searches that go on.
type Live struct {
	Status  string // a line: how far they are
	Workers []Worker
}

// Worker is one of several that evaluate variants.
type Worker struct {
	Name          string
	Trials        int
	Rate, Control string // trials a second, and what it last took for its control
	Last          string // what it evaluated last
}

// Part is what changes of a page while its searches go on, as JSON: the status, the contents as
// HTML, and the data of the charts.
func (p Page) Part() ([]byte, error) {
	fields, text, err := p.laid()
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	var content bytes.Buffer
	if err := page.ExecuteTemplate(&content, "content", fields); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	status := ""
	if p.Live != nil {
		status = p.Live.Status
	}
	return json.Marshal(map[string]any{"status": status, "content": content.String(), "data": json.RawMessage(text)})
}

// soFar is the verdict on a search that goes on.
func soFar(found bool, verdict string) string {
	if !found {
		return "No variant is known to be right yet."
	}
	return strings.Replace(verdict, " wins with ", " leads with ", 1)
}
