// Command fakecloud runs a fake cloud on this computer, to try Seer on
// without an account. It prints the variables to set, one export a line, and serves
// until it is interrupted. Then it says what was still being paid for, and ends it.
//
//	go run ./internal/fakecloud modal
//	go run ./internal/fakecloud runpod -cut 3s
//
// As a simulator of seer plugin test, which names an address, it takes the credentials
// that it is given and prints its URL. Only so there are hosts, for commands by SSH.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
	"github.com/seer-engine/seer/engine/enginetest/fakerunpod"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	left, err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fakecloud:", err)
		os.Exit(2)
	}
	if left > 0 {
		fmt.Fprintf(os.Stderr, "fakecloud: %d machines were left running\n", left)
		os.Exit(1)
	}
}

// ends is how long a machine that was told to end may take: a cloud says yes before that.
const ends = 10 * time.Second

// cloud is one fake.
type cloud struct {
	env   map[string]string
	alive func() int // machines that cost money
	close func()
}

func run(ctx context.Context, args []string, out io.Writer) (left int, err error) {
	if len(args) == 0 {
		return 0, fmt.Errorf("which cloud: modal, runpod or hosts?")
	}
	flags := flag.NewFlagSet("fakecloud", flag.ContinueOnError)
	cut := flags.Duration("cut", 100*time.Second, "how long a request through RunPod's proxy may last")
	install := flags.Bool("install", false, "pip of Modal's image builds is run; the others only say so")
	fast := flags.Bool("fast", false, "RunPod without its limit of 60 requests a minute")
	if err := flags.Parse(args[1:]); err != nil {
		return 0, err
	}
	addr := os.Getenv("SEER_SIMULATOR_ADDR")
	c, err := start(args[0], addr, *cut, *fast, *install)
	if err != nil {
		return 0, err
	}
	defer c.close()
	if addr != "" {
		fmt.Fprintln(out, "http://"+addr)
		<-ctx.Done()
		return 0, nil // the kit says what was left
	}
	var exports strings.Builder // written at once: who sees the first sees all
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		fmt.Fprintf(&exports, "export %s='%s'\n", name, c.env[name])
	}
	if _, err := io.WriteString(out, exports.String()); err != nil {
		return 0, err
	}
	<-ctx.Done()
	left = c.alive()
	for deadline := time.Now().Add(ends); left > 0 && time.Now().Before(deadline); left = c.alive() {
		time.Sleep(20 * time.Millisecond)
	}
	return left, nil
}

func start(name, addr string, cut time.Duration, fast, install bool) (cloud, error) {
	switch name {
	case "hosts":
		return newHosts(addr)
	case "modal":
		o := fakemodal.Options{Listen: addr, Install: install}
		if addr != "" {
			o.Token = fakemodal.Token{ID: os.Getenv("MODAL_TOKEN_ID"), Secret: os.Getenv("MODAL_TOKEN_SECRET")}
		}
		c := fakemodal.New(o)
		if err := c.Start(); err != nil {
			return cloud{}, err
		}
		alive := func() (n int) {
			for _, m := range c.Machines() {
				if m.Billing {
					n++
				}
			}
			return n
		}
		return cloud{c.Env(), alive, func() { _ = c.Close() }}, nil
	case "runpod":
		o := fakerunpod.Options{Addr: addr, ProxyCut: cut}
		if addr != "" {
			o.Keys = []string{os.Getenv("RUNPOD_API_KEY")}
		}
		if fast {
			o.Limits = []fakerunpod.Window{}
		}
		c, err := fakerunpod.New(o)
		if err != nil {
			return cloud{}, err
		}
		alive := func() (n int) {
			for _, p := range c.Pods() {
				if p.Live() {
					n++
				}
			}
			return n
		}
		return cloud{c.Env(), alive, c.Close}, nil
	}
	return cloud{}, fmt.Errorf("there is no fake for %q; there are modal and runpod", name)
}
