package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/remote/fleet"
	"autotune/operator"
	"autotune/tuner/devices"
	"autotune/tuner/store"
)

// Each command parses its flags once, into variables of the command's own. This file's structs hold flags that commands
// share.

type flag = cli.Flag

func textFlag(to *string, name, value, usage string, letter ...string) flag {
	return &cli.StringFlag{Name: name, Aliases: letter, Value: value, Usage: usage, Destination: to}
}

func boolFlag(to *bool, name, usage string, letter ...string) flag {
	return &cli.BoolFlag{Name: name, Aliases: letter, Usage: usage, Destination: to}
}

func intFlag(to *int, name string, value int, usage string) flag {
	return &cli.IntFlag{Name: name, Value: value, Usage: usage, Destination: to}
}

func floatFlag(to *float64, name string, value float64, usage string) flag {
	return &cli.Float64Flag{Name: name, Value: value, Usage: usage, Destination: to}
}

func timeFlag(to *time.Duration, name string, value time.Duration, usage string) flag {
	return &cli.DurationFlag{Name: name, Value: value, Usage: usage, Destination: to}
}

func seedFlag(to *uint64, usage string) flag {
	return &cli.Uint64Flag{Name: "seed", Value: 1, Usage: usage, Destination: to}
}

func listFlag(to *[]string, name, usage string) flag {
	return &cli.GenericFlag{Name: name, Value: (*words)(to), Usage: usage}
}

// words holds the values of a command-line flag that may be repeated. In the text of a repeatable flag, a comma does
// not separate values.
type words []string

func (w *words) Set(value string) error { *w = append(*w, value); return nil }
func (w *words) String() string         { return "" }

const shapeUsage = "`SHAPE` of the input, as 16x16x1024x1024; `autotune ops show OP` names the dimensions"

type problemFlags struct {
	shape      string
	set        []string
	math, free string
	only       partFlags // for commands that have these flags
}

func (p *problemFlags) flags() []flag {
	return append([]flag{textFlag(&p.shape, "shape", "", shapeUsage)}, p.unshaped()...)
}

func (p *problemFlags) unshaped() []flag {
	return append(p.fixed(),
		textFlag(&p.free, "free", "", "`DIMENSIONS` that the kernel takes when it runs, as n,h,w: one kernel for all sizes"))
}

// fixed returns the flags for properties that all shapes of a family share, such as parameters and the math mode.
func (p *problemFlags) fixed() []flag {
	return []flag{
		listFlag(&p.set, "set", "operator parameter, as `NAME=VALUE`; a pair may be 3 or 3x5; may be repeated"),
		textFlag(&p.math, "math", "auto",
			"numeric contract: auto (what PyTorch does by default), fp32, tf32 (ties away from zero) or tf32_even"),
	}
}

func (p *problemFlags) given() bool {
	return p.shape != "" || p.set != nil || p.math != "auto" || p.free != ""
}

// request turns --shape and the other flags into a request for a problem of the operator. Without --shape, the
// request's shape is the argument example.
func (p *problemFlags) request(op *operator.Operator, example []int64) (r operator.Request, err error) {
	shape := p.shape
	if shape == "" && example != nil {
		shape = operator.FormatShape(example)
	}
	if shape == "" {
		return r, fmt.Errorf("%s needs --shape %s", op.Name, shapeForm(op))
	}
	if r.Shape, err = operator.ParseShape(shape); err != nil {
		return r, fmt.Errorf("--shape: %w", err)
	}
	err = p.rest(&r)
	return r, err
}

// exampleRequest is like the method request, with the operator's example as the default shape. exampleRequest prints a
// notice if the shape is the example's.
func (p *problemFlags) exampleRequest(op *operator.Operator) (operator.Request, error) {
	if p.shape == "" && op.Example != nil {
		tell(fmt.Sprintf("without --shape this is %s's example, --shape %s", op.Name, operator.FormatShape(op.Example)))
	}
	return p.request(op, op.Example)
}

func (p *problemFlags) rest(r *operator.Request) (err error) {
	if r.Math = p.math; p.free != "" {
		r.Free = strings.Split(p.free, ",")
	}
	if r.Parameters, err = assignments("set", p.set); err != nil {
		return err
	}
	r.Only, err = p.only.restriction()
	return err
}

func assignments(flag string, pairs []string) (map[string]string, error) {
	values := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if name == "" || value == "" {
			return nil, fmt.Errorf("--%s %s: want NAME=VALUE, as --set kernel=3x5", flag, pair)
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("--%s %s: %s is set twice", flag, pair, name)
		}
		values[name] = value
	}
	return values, nil
}

type partFlags struct{ templates, where, config []string }

func (p *partFlags) flags() []flag {
	return []flag{
		listFlag(&p.templates, "template", "only configurations of the template `NAME`; may be repeated"),
		listFlag(&p.where, "where", "only configurations for which `EXPR` is true, as 'block_x <= 64'; may be repeated"),
	}
}

func (p *partFlags) configFlag() flag {
	return listFlag(&p.config, "config", "only this `CONFIGURATION`, as template=NAME,TUNABLE=VALUE,... or as autotune "+
		"prints it; a second --config continues the first")
}

func (p *partFlags) restriction() (operator.Restriction, error) {
	only := operator.Restriction{Templates: p.templates, Where: p.where}
	if p.config == nil {
		return only, nil
	}
	pairs := configPairs(p.config)
	if len(pairs) == 0 {
		return only, errors.New("--config is empty; want template=NAME and a value for each tunable, with commas between " +
			"them")
	}
	var err error
	only.Fixed, err = assignments("config", pairs)
	return only, err
}

// configPairs splits a configuration into NAME=VALUE pairs, at commas or spaces. A first word without "=" is the
// template's name, as in the configurations that autotune prints.
func configPairs(given []string) []string {
	pairs := strings.FieldsFunc(strings.Join(given, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(pairs) > 0 && !strings.Contains(pairs[0], "=") {
		pairs[0] = "template=" + pairs[0]
	}
	return pairs
}

type conditionFlags struct{ l2, launch string }

func (f *conditionFlags) flags() []flag {
	return []flag{
		textFlag(&f.l2, "l2", "", "`STATE` of the L2 cache when a sample begins: cold (the default, without the "+
			"variant's data) or warm (as its last launch left it)"),
		textFlag(&f.launch, "launch", "", "`HOW` launches are timed: direct (the default), or graph (captured into a CUDA graph)"),
	}
}

func (f *conditionFlags) asked() bool { return f.l2 != "" || f.launch != "" }

func (f *conditionFlags) conditions() (device.Conditions, error) {
	l2, launch := cmp.Or(f.l2, device.L2Words[0]), cmp.Or(f.launch, device.LaunchWords[0])
	err := cmp.Or(oneOf("state of the L2", l2, device.L2Words), oneOf("form of launch", launch, device.LaunchWords))
	return device.ConditionsOf(l2, launch), err
}

// check returns an error if the flags ask for conditions other than those of a recording. check prints a warning if the
// device's times do not depend on measuring conditions at all.
func (f *conditionFlags) check(d device.Device, asked device.Conditions) error {
	if !f.asked() {
		return nil
	}
	kind := d.Info().Kind.Properties()
	if r, ok := d.(device.Recorded); ok {
		if asked == r.Conditions() {
			return nil
		}
		return fmt.Errorf("the recording was timed with %s; leave --l2 and --launch away, or measure on a GPU",
			r.Conditions())
	}
	if !kind.Measures && !asked.Usual() {
		tell(fmt.Sprintf("--l2 and --launch mean nothing to %s, whose times say nothing about a GPU", kind.Label))
	}
	return nil
}

type deviceFlags struct {
	device, gpu string
	nats        natsFlags
}

const severalUsage = "; several of this host: cuda:0,1 or cuda:all"

func (f *deviceFlags) flag(more string) flag {
	return textFlag(&f.device, "device", "auto", "`DEVICE` to run on: "+devices.FormsText()+more)
}

func (f *deviceFlags) opener(v view, o devices.Options) (*devices.Opener, error) {
	spec, err := devices.Parse(f.device)
	if err != nil {
		return nil, err
	}
	o.Say = tell
	if o.Await == nil {
		o.Await = func(what string) func() { return v.await(what).Done }
	}
	if o.Server = f.nats.login; o.Server.URL != "" && f.device != "auto" {
		return nil, errors.New("--nats searches on the workers there, --device on this machine; give one of them")
	}
	if o.GPU = f.gpu; o.GPU != "" && o.Server.URL == "" {
		return nil, errors.New("--gpu chooses among the workers at a server; name it with --nats URL")
	}
	o.CacheDir, _ = cacheDir() // without a cache directory, searches are slower but work
	return devices.NewOpener(spec, o), nil
}

// whoseFlag makes the flag that chooses a device among those whose winners or trials the cache holds.
func whoseFlag(to *string, what string) flag {
	return textFlag(to, "device", "auto",
		"whose "+what+": `DEVICE` is a kind (cuda, emulator) or part of a GPU's name; auto takes a GPU's before the "+
			"emulator's")
}

type natsFlags struct{ login fleet.Login }

func (f *natsFlags) flags() []flag {
	l := &f.login
	return []flag{
		textFlag(&l.URL, "nats", "", "the NATS server where workers are, as `URL`: tls://HOST:4222; several with commas"),
		textFlag(&l.Credentials, "nats-creds", "", "`FILE` with a user's credentials for it, as nsc writes them"),
		textFlag(&l.NKey, "nats-nkey", "", "`FILE` with an nkey's seed for it"),
		textFlag(&l.CA, "nats-ca", "", "`FILE` with the authority of its certificate"),
		textFlag(&l.Cert, "nats-cert", "", "`FILE` with a certificate to show it"),
		textFlag(&l.Key, "nats-key", "", "`FILE` with that certificate's key"),
	}
}

// connect connects to the NATS server, and fails if no flag names a server.
func (f *natsFlags) connect(name string) (*fleet.Broker, error) {
	if f.login.URL == "" {
		return nil, errors.New("which server? --nats URL names it, as --nats nats://localhost:4222")
	}
	return fleet.Connect(f.login, name, fleet.ConnectOptions{})
}

func cacheFlag(to *string) flag {
	return textFlag(to, "cache", "", "cache `FILE` (default: autotune/cache.db in the user's cache directory)")
}

func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the cache: %w; name one with --cache FILE", err)
	}
	return filepath.Join(dir, "autotune"), nil
}

func cachePath(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	dir, err := cacheDir()
	return filepath.Join(dir, "cache.db"), err
}

func openStore(ctx context.Context, named string, o store.Options) (*store.Store, error) {
	path, err := cachePath(named)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, path, o)
}

// readWait is how long a command that only reads a cache waits while another process writes to it.
const readWait = 5 * time.Second

func archs(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

func jsonFlag(to *string) flag {
	return textFlag(to, "json", "", "write it as JSON to `FILE`; - is standard output, in place of the text")
}

func ciFlag(to *bool, of string) flag {
	return boolFlag(to, "ci", of+"fail what is wrong, or slower than recorded beyond this machine's noise")
}

var sizeUnits = map[string]float64{
	"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
}

// sizeOf parses the value of a flag that is a number of bytes with a unit, such as 4 GiB.
func sizeOf(flag, text string) (int64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, "BGKMi")
	number, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	unit, known := sizeUnits[text[len(digits):]]
	if err != nil || !known || !(number >= 0 && number*unit <= 1<<60) {
		return 0, fmt.Errorf("--%s %q: give a number and its unit, one of B, KB, KiB, MB, MiB, GB, GiB", flag, text)
	}
	return int64(number * unit), nil
}
