package main

import (
	"io"
	"os"
	"regexp"

	"autotune/internal/output"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// The look of the finished text decides what is coloured. So its writers need not know
// of colours, nor count their bytes.
var paints = []struct {
	text  *regexp.Regexp
	color string // as the terminal takes it, between ESC [ and m
}{
	{regexp.MustCompile(`(?m)^winner .*(?:\n {12}.*)*`), "1"},
	{regexp.MustCompile(`(?m)^ok\b`), "32"},
	{regexp.MustCompile(`(?m)(?:^|\b[0-9]+ )(?:compile_error|launch_error|wrong_result|timeout|crashed)\b`), "31"},
	{regexp.MustCompile(`(?m)^ *warnings?\b`), "33"},
}

var colorWords = []string{"auto", "always", "never"}

func colorFlag() cli.Flag {
	return &cli.StringFlag{Name: "color", Value: "auto", Usage: "`WHEN` to colour: auto (in a terminal, unless NO_COLOR is set), always or never"}
}

func checkColor(c *cli.Context) error { return oneOf("--color", c.String("color"), colorWords) }

// painted writes to out in colours, if they are wanted there, and nothing else
// that a terminal obeys. A write must hold whole lines.
func painted(c *cli.Context, out *os.File) io.Writer {
	if wantsColor(c.String("color"), os.Getenv, term.IsTerminal(int(out.Fd()))) {
		return output.Plain(painter{out})
	}
	return output.Plain(out)
}

// wantsColor follows what the flag says, and without it the user's environment:
// no-color.org and bixense.com/clicolors.
func wantsColor(when string, env func(string) string, terminal bool) bool {
	force := env("CLICOLOR_FORCE")
	switch {
	case when == "always" || when == "never":
		return when == "always"
	case env("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal && env("TERM") != "dumb"
}

type painter struct{ out io.Writer }

func (p painter) Write(text []byte) (int, error) {
	colored := text
	for _, paint := range paints {
		colored = paint.text.ReplaceAll(colored, []byte("\x1b["+paint.color+"m$0\x1b[0m"))
	}
	if _, err := p.out.Write(colored); err != nil {
		return 0, err
	}
	return len(text), nil
}
