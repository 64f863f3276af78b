package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"autotune/device"
	"autotune/device/remote/broker"
	"autotune/operator"
	"autotune/operator/tree"
	"autotune/tuner/devices"
	"autotune/tuner/store"
)

// problemFlags name a problem: an operator bound to a shape, parameters and a
// math mode.
func problemFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "shape", Usage: shapeUsage},
		setFlag(), mathFlag(), freeFlag(),
	}
}

const shapeUsage = "`SHAPE` of the input, as 16x16x1024x1024; `autotune ops show OP` names the dimensions"

func setFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "set", Usage: "operator parameter, as `NAME=VALUE`; a pair may be 3 or 3x5; may be repeated"}
}

func freeFlag() cli.Flag {
	return &cli.StringFlag{Name: "free", Usage: "`DIMENSIONS` that the kernel takes when it runs, as n,h,w: one kernel for every size of them"}
}

func objectiveFlag() cli.Flag {
	return &cli.StringFlag{Name: "objective", Value: "time", Usage: "what the winner is the best of: time, energy, another measurement, or a metric `NAME` of the operator; max:NAME, min:NAME"}
}

func mathFlag() cli.Flag {
	return &cli.StringFlag{Name: "math", Value: "auto", Usage: "numeric contract: auto (what PyTorch does by default), fp32, tf32 (ties away from zero) or tf32_even"}
}

// operatorArgument loads the operator that the command's one argument names: a built-in
// one, a folder with an op.yaml, or one .cu file.
func operatorArgument(c *cli.Context) (*operator.Operator, error) {
	if c.NArg() == 0 {
		return nil, fmt.Errorf("which operator? `autotune ops` lists them; as in: %s", example(c.Command.HelpName))
	}
	if second := c.Args().Get(1); c.NArg() == 2 && strings.ContainsAny(second, "0123456789") {
		if _, err := operator.ParseShape(second); err == nil {
			return nil, fmt.Errorf("a shape is given with its flag: %s --shape %s", c.Args().First(), second)
		}
	}
	if c.NArg() > 1 {
		return nil, fmt.Errorf("one operator at a time; got %s", strings.Join(c.Args().Slice(), " "))
	}
	op, err := findOperator(c.Args().First())
	if err != nil {
		return nil, err
	}
	return op.AsNamed(true), nil
}

// findOperator loads a built-in operator, or the one in a folder: any word with
// a slash or dot in it names a folder, and a word that no operator has may.
func findOperator(name string) (*operator.Operator, error) {
	path := strings.ContainsAny(name, "/.")
	if !path {
		op, err := operator.Find(name)
		if err == nil {
			return op, nil
		}
		if info, statErr := os.Stat(filepath.Join(name, "op.yaml")); name == "" || statErr != nil || info.IsDir() {
			return nil, err
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("no operator at %s: %w", name, errors.Unwrap(err))
	}
	folder, file := name, ""
	switch {
	case info.IsDir():
	case filepath.Ext(name) == ".cu":
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return nil, fmt.Errorf("no operator at %s: %w", name, err)
		}
		folder, file = filepath.Dir(name), filepath.Base(name)
	default:
		return nil, fmt.Errorf("no operator at %s: it is a file; name the folder with the op.yaml, or a .cu file that describes itself", name)
	}
	fsys, err := operator.OpenFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("no operator at %s: %w", name, err)
	}
	op, err := operator.LoadFile(fsys, ".", file)
	var fault *tree.Error
	if errors.As(err, &fault) {
		fault.File = filepath.Join(folder, fault.File)
	}
	return op, err
}

// problemRequest reads the flags that name one problem.
func problemRequest(c *cli.Context, op *operator.Operator) (operator.Request, error) {
	return requestOf(c, op, c.String("shape"))
}

// exampleRequest is requestOf a shape, or else of the operator's example.
func exampleRequest(c *cli.Context, op *operator.Operator, shape string) (operator.Request, error) {
	if shape == "" && op.Example != nil {
		shape = operator.FormatShape(op.Example)
		say(os.Stderr, fmt.Sprintf("autotune: without --shape this is %s's example, --shape %s", op.Name, shape))
	}
	return requestOf(c, op, shape)
}

// requestOf is a request for a shape with the parameters that the flags set.
func requestOf(c *cli.Context, op *operator.Operator, shape string) (operator.Request, error) {
	if shape == "" {
		return operator.Request{}, fmt.Errorf("%s needs --shape %s", op.Name, shapeForm(op))
	}
	dims, err := operator.ParseShape(shape)
	if err != nil {
		return operator.Request{}, fmt.Errorf("--shape: %w", err)
	}
	parameters, err := assignments("set", c.StringSlice("set"))
	if err != nil {
		return operator.Request{}, err
	}
	only, err := restriction(c)
	return operator.Request{Shape: dims, Parameters: parameters, Math: c.String("math"), Only: only, Free: freeOf(c)}, err
}

// freeOf are the dimensions that the flag leaves free.
func freeOf(c *cli.Context) []string {
	if !c.IsSet("free") {
		return nil
	}
	return strings.Split(c.String("free"), ",")
}

// assignments reads the NAME=VALUE pairs of a flag.
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

// partFlags ask for part of a problem's space.
func partFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "template", Usage: "only configurations of the template `NAME`; may be repeated"},
		&cli.StringSliceFlag{Name: "where", Usage: "only configurations for which `EXPR` is true, as 'block_x <= 64'; may be repeated"},
	}
}

func configFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "config", Usage: "only this `CONFIGURATION`, as template=NAME,TUNABLE=VALUE,... or as autotune prints it; a second --config continues the first"}
}

// restriction reads the flags that ask for part of a space.
func restriction(c *cli.Context) (operator.Restriction, error) {
	only := operator.Restriction{Templates: c.StringSlice("template"), Where: c.StringSlice("where")}
	if !c.IsSet("config") {
		return only, nil
	}
	pairs := configPairs(c.StringSlice("config"))
	if len(pairs) == 0 {
		return only, errors.New("--config is empty; want template=NAME and a value for each tunable, with commas between them")
	}
	var err error
	only.Fixed, err = assignments("config", pairs)
	return only, err
}

// configPairs takes a configuration apart: pairs with commas or spaces between
// them. Where autotune prints one, the template's name stands first and alone.
func configPairs(given []string) []string {
	pairs := strings.FieldsFunc(strings.Join(given, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	if len(pairs) > 0 && !strings.Contains(pairs[0], "=") {
		pairs[0] = "template=" + pairs[0]
	}
	return pairs
}

// quietFlag is that of commands that tell what is awaited.
func quietFlag() cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress"}
}

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
		return fmt.Errorf("the recording was timed with %s; leave --l2 and --launch away, or measure on a GPU", r.Conditions())
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
		return "", fmt.Errorf("no place for the cache: %w; name one with --cache FILE", err)
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
	return store.Open(c.Context, path, o)
}

// deviceOpener reads --device, or what names workers in its place.
func deviceOpener(c *cli.Context, o devices.Options) (*devices.Opener, error) {
	spec, err := devices.Parse(c.String("device"))
	if err != nil {
		return nil, err
	}
	o.Say = func(text string) { say(os.Stderr, "autotune: "+text) }
	if o.Await == nil {
		o.Await = func(what string) func() { return await(c, what).done }
	}
	if o.Server = loginOf(c); o.Server.URL != "" && c.IsSet("device") {
		return nil, errors.New("--nats searches on the workers there, --device on this machine; give one of them")
	}
	if o.GPU = c.String("gpu"); o.GPU != "" && o.Server.URL == "" {
		return nil, errors.New("--gpu chooses among the workers at a server; name it with --nats URL")
	}
	// A cache directory that cannot be had costs speed, not the search.
	o.CacheDir, _ = cacheDir()
	return devices.NewOpener(spec, o), nil
}

// natsFlags say which NATS server workers and searches meet at, and how to get in.
func natsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "nats", Usage: "the NATS server where workers are, as `URL`: tls://HOST:4222; several with commas"},
		&cli.StringFlag{Name: "nats-creds", Usage: "`FILE` with a user's credentials for it, as nsc writes them"},
		&cli.StringFlag{Name: "nats-nkey", Usage: "`FILE` with an nkey's seed for it"},
		&cli.StringFlag{Name: "nats-ca", Usage: "`FILE` with the authority of its certificate"},
		&cli.StringFlag{Name: "nats-cert", Usage: "`FILE` with a certificate to show it"},
		&cli.StringFlag{Name: "nats-key", Usage: "`FILE` with that certificate's key"},
	}
}

// loginOf reads them; of a command without them it is empty.
func loginOf(c *cli.Context) broker.Login {
	return broker.Login{
		URL: c.String("nats"), Credentials: c.String("nats-creds"), NKey: c.String("nats-nkey"),
		CA: c.String("nats-ca"), Cert: c.String("nats-cert"), Key: c.String("nats-key"),
	}
}

// connectFor connects a command that is of no use without a server. A connection that is lost
// later is told of.
func connectFor(c *cli.Context, name string, tell func(text string)) (*broker.Broker, error) {
	login := loginOf(c)
	if login.URL == "" {
		return nil, errors.New("which server? --nats URL names it, as --nats nats://localhost:4222")
	}
	return broker.Connect(c.Context, login, name, broker.Options{Say: tell})
}
