// Command goplugin measures hashicorp/go-plugin as it is mostly used: a plugin that is a
// process of its own, called over net/rpc. It reads one JSON request a line and answers
// with one JSON object a line, as bench/helper does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

func handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BENCH_PLUGIN", MagicCookieValue: "echo"}
}

// echo is the plugin: it reads JSON and writes it again.
type echo struct{}

type request struct {
	Doc string `json:"doc"`
}

func (echo) Call(in []byte, out *[]byte) error {
	var r request
	if err := json.Unmarshal(in, &r); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	*out = text
	return err
}

type echoPlugin struct{}

func (echoPlugin) Server(*plugin.MuxBroker) (any, error) { return echo{}, nil }
func (echoPlugin) Client(_ *plugin.MuxBroker, c *rpc.Client) (any, error) {
	return c, nil
}

func main() {
	if len(os.Args) > 1 {
		plugin.Serve(&plugin.ServeConfig{HandshakeConfig: handshake(), Plugins: plugin.PluginSet{"echo": echoPlugin{}}})
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "goplugin:", err)
		os.Exit(1)
	}
}

// start starts a plugin's process, until it can be called.
func start() (*plugin.Client, *rpc.Client, error) {
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake(), Plugins: plugin.PluginSet{"echo": echoPlugin{}},
		Cmd: exec.Command(os.Args[0], "plugin"), Logger: hclog.NewNullLogger(),
	})
	protocol, err := c.Client()
	if err != nil {
		return c, nil, err
	}
	raw, err := protocol.Dispense("echo")
	if err != nil {
		return c, nil, err
	}
	return c, raw.(*rpc.Client), nil
}

func call(client *rpc.Client) error {
	text, err := json.Marshal(request{strings.Repeat("x", 1013)}) // 1 KiB in all
	if err != nil {
		return err
	}
	var out []byte
	if err := client.Call("Plugin.Call", text, &out); err != nil {
		return err
	}
	var back request
	return json.Unmarshal(out, &back)
}

func serve() error {
	running, client, err := start()
	defer running.Kill()
	if err != nil {
		return err
	}
	var last *plugin.Client
	ops := map[string]func() error{
		"call": func() error { return call(client) },
		"start": func() error { // until the first answer
			c, fresh, err := start()
			last = c
			if err != nil {
				return err
			}
			return call(fresh)
		},
	}
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	for in.Scan() {
		var r struct {
			Op    string `json:"op"`
			Count int    `json:"count"`
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return err
		}
		var samples []float64
		for range max(1, r.Count) {
			begin := time.Now()
			if err := ops[r.Op](); err != nil {
				return err
			}
			samples = append(samples, time.Since(begin).Seconds())
			if last != nil {
				last.Kill()
			}
		}
		if err := out.Encode(map[string]any{"samples": samples}); err != nil {
			return err
		}
	}
	return in.Err()
}
