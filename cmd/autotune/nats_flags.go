package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"autotune/tuner/device/remote/broker"
)

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

// connectFor connects a command that is of no use without a server.
func connectFor(c *cli.Context, name string) (*broker.Broker, error) {
	login := loginOf(c)
	if login.URL == "" {
		return nil, badInput(errors.New("which server? --nats URL names it, as --nats nats://localhost:4222"))
	}
	return broker.Connect(c.Context, login, name, broker.Options{})
}
