package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
)

// outputsWritable finds out before the search, not after it, that an output
// cannot be written.
func outputsWritable(c *cli.Context, problems int) error {
	for _, flag := range []string{"json", "record"} {
		path := c.String(flag)
		if path == "" || path == "-" {
			continue
		}
		if err := writableDir(filepath.Dir(path)); err != nil {
			return badInput(fmt.Errorf("--%s %s: %w", flag, path, err))
		}
		info, err := os.Stat(path)
		folder := err == nil && info.IsDir()
		if flag == "record" && problems > 1 && !folder {
			return badInput(fmt.Errorf("--record %s: with several problems, name an existing folder", path))
		}
		if flag == "json" && folder {
			return badInput(fmt.Errorf("--%s %s: is a folder; name a file", flag, path))
		}
	}
	if dir := c.String("plot"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return badInput(fmt.Errorf("--plot %s: %w", dir, err))
		}
		if err := writableDir(dir); err != nil {
			return badInput(fmt.Errorf("--plot %s: %w", dir, err))
		}
	}
	return nil
}

func writableDir(dir string) error {
	f, err := os.CreateTemp(dir, ".autotune-*")
	if err != nil {
		return fmt.Errorf("cannot write there: %w", errors.Unwrap(err))
	}
	f.Close()
	return os.Remove(f.Name())
}
