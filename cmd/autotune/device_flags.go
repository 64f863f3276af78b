package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"autotune/tuner/device"
	"autotune/tuner/devices"
	"autotune/tuner/store"
)

func deviceFlag() cli.Flag {
	return &cli.StringFlag{Name: "device", Value: "auto", Usage: "`DEVICE` to run on: " + devices.FormsText()}
}

// devicesFlag is deviceFlag of a command that uses several at a time.
func devicesFlag() cli.Flag {
	return &cli.StringFlag{Name: "device", Value: "auto", Usage: "`DEVICE` to run on: " + devices.FormsText() + "; several of this host: cuda:0,1 or cuda:all"}
}

// conditionFlags say under which conditions launches are timed.
func conditionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "l2", Value: device.L2Words[0], Usage: "state of the L2 cache when a sample begins: cold (without the variant's data) or warm (as its last launch left it)"},
		&cli.StringFlag{Name: "launch", Value: device.LaunchWords[0], Usage: "how launches are timed: direct, or graph (captured into a CUDA graph)"},
	}
}

// conditionsOf reads them.
func conditionsOf(c *cli.Context) (device.Conditions, error) {
	l2, launch := c.String("l2"), c.String("launch")
	err := oneOf("state of the L2", l2, device.L2Words)
	if err == nil {
		err = oneOf("form of launch", launch, device.LaunchWords)
	}
	return device.ConditionsOf(l2, launch), err
}

// conditionsAsked tells whether any of them is given.
func conditionsAsked(c *cli.Context) bool { return c.IsSet("l2") || c.IsSet("launch") }

// conditionsHere refuses conditions other than those that a recording was made
// under, and says where they mean nothing.
func conditionsHere(c *cli.Context, d device.Device, asked device.Conditions) error {
	if !conditionsAsked(c) {
		return nil
	}
	kind := d.Info().Kind.Properties()
	if r, ok := d.(device.Recorded); ok {
		if asked == r.Conditions() {
			return nil
		}
		return badInput(fmt.Errorf("the recording was timed with %s; leave --l2 and --launch away, or measure on a GPU", r.Conditions()))
	}
	if !kind.Measures && !asked.Usual() {
		say(os.Stderr, fmt.Sprintf("autotune: --l2 and --launch mean nothing to %s, whose times say nothing about a GPU", kind.Label))
	}
	return nil
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

// deviceOpener reads --device, or what names workers in its place.
func deviceOpener(c *cli.Context, o devices.Options) (*devices.Opener, error) {
	spec, err := devices.Parse(c.String("device"))
	if err != nil {
		return nil, badInput(err)
	}
	o.Say = func(text string) { say(os.Stderr, "autotune: "+text) }
	if o.Server = loginOf(c); o.Server.URL != "" && c.IsSet("device") {
		return nil, badInput(errors.New("--nats searches on the workers there, --device on this machine; give one of them"))
	}
	if o.GPU = c.String("gpu"); o.GPU != "" && o.Server.URL == "" {
		return nil, badInput(errors.New("--gpu chooses among the workers at a server; name it with --nats URL"))
	}
	// A cache directory that cannot be had costs speed, not the search.
	o.CacheDir, _ = cacheDir()
	return devices.NewOpener(spec, o), nil
}
