package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/tuner/devices"
	"autotune/tuner/store"
)

func deviceFlag() cli.Flag {
	return &cli.StringFlag{Name: "device", Value: "auto", Usage: "`DEVICE` to run on: " + devices.FormsText()}
}

func cacheFlag() cli.Flag {
	return &cli.StringFlag{Name: "cache", Usage: "cache `FILE` (default: autotune/cache.db in the user's cache directory)"}
}

// cacheDir is where compiled binaries, and by default the cache file, live.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", badInput(fmt.Errorf("no place for the cache: %w; name one with --cache FILE", err))
	}
	return filepath.Join(dir, "autotune"), nil
}

// cachePath is the file that --cache names, or the default one.
func cachePath(c *cli.Context) (string, error) {
	if path := c.String("cache"); path != "" {
		return path, nil
	}
	dir, err := cacheDir()
	return filepath.Join(dir, "cache.db"), err
}

func openStore(c *cli.Context, o store.Options) (*store.Store, error) {
	path, err := cachePath(c)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(c.Context, path, o)
	return s, badInput(err)
}

// deviceOpener reads --device.
func deviceOpener(c *cli.Context, o devices.Options) (*devices.Opener, error) {
	spec, err := devices.Parse(c.String("device"))
	if err != nil {
		return nil, badInput(err)
	}
	// A cache directory that cannot be had costs speed, not the search.
	o.CacheDir, _ = cacheDir()
	return devices.NewOpener(spec, o), nil
}
