package reports

import (
	"io"
	"regexp"
)

// The look of the finished text decides what is coloured, so its writers need not know of colours, nor count their
// bytes.
var paints = []struct {
	text  *regexp.Regexp
	color string // as the terminal takes it, between ESC [ and m
}{
	{regexp.MustCompile(`(?m)^winner .*(?:\n {12}.*)*`), "1"},
	{regexp.MustCompile(`(?m)^ok\b`), "32"},
	{regexp.MustCompile(`(?m)(?:^|\b[0-9]+ )(?:compile_error|launch_error|wrong_result|timeout|crashed)\b`), "31"},
	{regexp.MustCompile(`(?m)^ *warnings?\b`), "33"},
}

// Painter colours the text of reports and trials. A write must hold whole lines.
type Painter struct{ Out io.Writer }

func (p Painter) Write(text []byte) (int, error) {
	colored := text
	for _, paint := range paints {
		colored = paint.text.ReplaceAll(colored, []byte("\x1b["+paint.color+"m$0\x1b[0m"))
	}
	if _, err := p.Out.Write(colored); err != nil {
		return 0, err
	}
	return len(text), nil
}
