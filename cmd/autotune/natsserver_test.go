package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsServer is a program for the test scripts: `natsserver start` starts a NATS server and writes its address to the
// file nats.url, and `natsserver stop` ends the server.
func natsServer() {
	if err := natsServerMain(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "natsserver:", err)
		os.Exit(1)
	}
}

func natsServerMain(verb string) error {
	switch verb {
	case "start":
		c := exec.Command(os.Args[0], "serve")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			return err
		}
		for range 1000 {
			if text, err := os.ReadFile("nats.url"); err == nil && strings.HasSuffix(string(text), "\n") {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
		return fmt.Errorf("it does not come up")
	case "stop":
		text, err := os.ReadFile("nats.pid")
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		return syscall.Kill(pid, syscall.SIGTERM)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("the server does not come up")
	}
	if err := os.WriteFile("nats.pid", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile("nats.url", []byte(s.ClientURL()+"\n"), 0o600); err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	select {
	case <-end:
	case <-time.After(5 * time.Minute): // the script failed before its stop command
	}
	s.Shutdown()
	return nil
}
