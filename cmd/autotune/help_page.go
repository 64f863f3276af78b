package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// page is a help page in the making.
type page struct{ text strings.Builder }

func (p *page) line(s string) { fmt.Fprintln(&p.text, s) }

func (p *page) print(w io.Writer) error {
	_, err := io.WriteString(w, p.text.String())
	return err
}

// paragraph breaks a text at the page's width.
func (p *page) paragraph(text string) {
	for _, line := range wrapped(text, pageWidth) {
		p.line(line)
	}
}

// columns prints terms with what they mean beside them, in aligned columns.
func (p *page) columns(rows [][2]string) {
	const widest = 22
	left := 0
	for _, row := range rows {
		if n := len(row[0]); n <= widest {
			left = max(left, n)
		}
	}
	for _, row := range rows {
		lines := wrapped(row[1], pageWidth-left-4)
		if len(row[0]) > left { // a long term has a line of its own
			p.line("  " + row[0])
			row[0] = ""
		}
		for i, line := range lines {
			if i > 0 {
				row[0] = ""
			}
			p.line(fmt.Sprintf("  %-*s  %s", left, row[0], line))
		}
	}
}

func (p *page) commands(commands []*cli.Command) {
	var rows [][2]string
	for _, c := range commands {
		rows = append(rows, [2]string{c.Name, c.Usage})
	}
	p.columns(rows)
}

func (p *page) flags(flags []cli.Flag) {
	var rows [][2]string
	for _, f := range flags {
		value, usage := flagUsage(f)
		var names []string
		for _, name := range f.Names() {
			names = append(names, dashed(name))
		}
		rows = append(rows, [2]string{strings.TrimSpace(strings.Join(names, ", ") + " " + value), usage})
	}
	p.columns(rows)
}

// flagUsage is what a flag's value is called, and what the flag does. The value's
// name stands in backquotes in the usage, as package flag has it.
func flagUsage(f cli.Flag) (value, usage string) {
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return "", ""
	}
	usage = doc.GetUsage()
	if doc.TakesValue() {
		value = strings.ToUpper(f.Names()[0])
		if before, rest, ok := strings.Cut(usage, "`"); ok {
			if name, after, ok := strings.Cut(rest, "`"); ok && name == strings.ToUpper(name) {
				value, usage = name, before+name+after
			}
		}
		if text := doc.GetDefaultText(); text != "" && text != `""` && text != "0" && text != "0s" {
			usage += " (default " + strings.Trim(text, `"`) + ")"
		}
	}
	return value, usage
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// wrapped breaks a text into lines of at most width characters, between words.
// What stands in backquotes stays together.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range words(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

func words(text string) []string {
	var all []string
	open := false
	for _, word := range strings.Fields(text) {
		if open {
			all[len(all)-1] += " " + word
		} else {
			all = append(all, word)
		}
		if strings.Count(word, "`")%2 == 1 {
			open = !open
		}
	}
	return all
}
