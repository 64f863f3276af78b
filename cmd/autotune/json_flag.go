package main

import (
	"io"

	"github.com/urfave/cli/v2"
)

// jsonFlag is --json of a command that prints what it knows.
func jsonFlag() cli.Flag {
	return &cli.StringFlag{Name: "json", Usage: "write it as JSON to `FILE`; - is standard output, in place of the text"}
}

// writeDocument writes the document as --json asks, and else the text.
func writeDocument(c *cli.Context, document any, text func(io.Writer) error) error {
	return writeShown(c, shown{table: text, json: func(w io.Writer) error { return printJSON(w, document) }})
}
