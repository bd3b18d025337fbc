// Command pond-simulator is Pond, the small cloud that API.md describes, on this
// computer: the machines are processes, and the bill is not sent. It prints the
// variables that make the plugin use it, one export a line, and serves until it is
// interrupted. Then it says what was still being billed, and ends it.
//
//	go run ./examples/plugins/pond-simulator -boot 2s -faults lost:5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/examples/plugins/pond-simulator/pondcloud"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == reapCommand {
		reap(os.Stdin, os.Args[2])
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	left, err := run(ctx, os.Args[1:], os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "pond-simulator:", err)
		os.Exit(2)
	case len(left) > 0:
		fmt.Fprintf(os.Stderr, "pond-simulator: still billed: %s\n", strings.Join(left, ", "))
		os.Exit(1)
	}
}

// addrVariable is set by `seer plugin test`, which takes the first line for the URL and
// closes the input when it is done.
const addrVariable = "SEER_SIMULATOR_ADDR"

// run serves until ctx ends: the machines that were billed then.
func run(ctx context.Context, args []string, out io.Writer) ([]string, error) {
	kit := os.Getenv(addrVariable)
	if kit != "" {
		args = append([]string{"-addr", kit, "-key", "*", "-requests", "1000000", "-dry"}, args...)
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		go func() {
			defer stop()
			_, _ = io.Copy(io.Discard, os.Stdin) // any end is the end
		}()
	}
	o, addr, err := options(args)
	if err != nil {
		return nil, err
	}
	if o.Dir, err = os.MkdirTemp("", "pond-"); err != nil {
		return nil, err
	}
	done, err := watch(o.Dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(o.Dir))
	}
	defer done()
	cloud, err := pondcloud.New(o)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: cloud, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if kit != "" {
		fmt.Fprintf(out, "http://%s\n", listener.Addr())
	} else {
		fmt.Fprintf(out, "export POND_URL='http://%s'\nexport POND_KEY='%s'\n", listener.Addr(), o.Key)
	}
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	left := cloud.Bill().Billing
	return left, errors.Join(err, server.Close(), cloud.Close())
}

func options(args []string) (o pondcloud.Options, addr string, err error) {
	flags := flag.NewFlagSet("pond-simulator", flag.ContinueOnError)
	flags.StringVar(&addr, "addr", "127.0.0.1:0", "where to listen; a port of 0 is a free one")
	flags.StringVar(&o.Key, "key", "pond-key", "the key that is accepted; * is every one")
	flags.DurationVar(&o.Queue, "queue", 0, "how long a machine is queued")
	flags.DurationVar(&o.Boot, "boot", 0, "how long it boots")
	flags.IntVar(&o.Requests, "requests", 0, "how many requests a key may make in a minute (default 120)")
	flags.BoolVar(&o.Dry, "dry", false, "let machines run nothing: several that listen at one port need a computer each")
	price := flags.Float64("price", 0, "USD an hour of the smallest machine (default 0.06)")
	faults := flags.String("faults", "", "what goes wrong with every n-th request, as lost:5,trouble:7; the kinds are "+strings.Join(pondcloud.FaultKinds(), ", "))
	if err = flags.Parse(args); err != nil {
		return o, "", err
	}
	if o.Faults, err = pondcloud.ParseFaults(*faults); err != nil {
		return o, "", err
	}
	o.Prices = pondcloud.DefaultPrices()
	if *price > 0 {
		o.Prices[0].Hourly = *price
	}
	return o, addr, nil
}
