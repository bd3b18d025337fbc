package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/protocol"
)

// use is what every sandbox can do, a scoped one, too.
func use(ctx context.Context, lab *engine.Sandbox) error {
	for _, step := range []func(context.Context, *engine.Sandbox) error{commands, files, watch, port} {
		if err := step(ctx, lab); err != nil {
			return err
		}
	}
	return nil
}

func commands(ctx context.Context, lab *engine.Sandbox) error {
	p, err := lab.Exec(ctx, protocol.ProcessSpec{Shell: "echo $((6*7)); exit 3", TimeoutSeconds: 60}, nil, os.Stdout, os.Stderr)
	if err != nil {
		return err // it could not be run, or its outcome is unknown
	}
	fmt.Println("exit code:", p.ExitCode)

	terminal := protocol.ProcessSpec{Argv: []string{"stty", "size"}, PTY: &protocol.PTY{Rows: 24, Cols: 80}}
	if _, err := lab.Exec(ctx, terminal, nil, os.Stdout, nil); err != nil {
		return err
	}

	server := protocol.ProcessSpec{ID: "p-server", Argv: []string{"sleep", "600"}, Background: true}
	if _, err := lab.Runtime().Processes().Start(ctx, server); err != nil {
		return err
	}
	return lab.Runtime().Processes().Delete(ctx, "p-server")
}

func files(ctx context.Context, lab *engine.Sandbox) error {
	if err := lab.WriteFile(ctx, "/workspace/data/a.txt", []byte("one\n"), 0o644); err != nil {
		return err
	}
	entries, err := lab.List(ctx, "/workspace/data")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fmt.Println(e.Path, e.Type, e.Size)
	}
	here, err := os.MkdirTemp("", "session-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(here)
	return lab.Download(ctx, "/workspace/data", here) // Upload is the way there
}

func watch(ctx context.Context, lab *engine.Sandbox) error {
	for event, err := range lab.Watch(ctx, "/workspace/data", true) {
		if err != nil {
			return err
		}
		if event.Type == protocol.WatchReady { // reports every change from now on
			if err := lab.WriteFile(ctx, "/workspace/data/b.txt", []byte("two\n"), 0o644); err != nil {
				return err
			}
		} else if event.Path == "/workspace/data/b.txt" {
			fmt.Println("watched:", event.Path)
			break
		}
	}
	return nil
}

// port asks Jupyter for its status; any other port is reached in the same way.
func port(ctx context.Context, lab *engine.Sandbox) error {
	env, err := lab.Environment(ctx)
	if err != nil {
		return err
	}
	inside := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return lab.DialPort(ctx, env.JupyterPort)
	}}}
	defer inside.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://sandbox"+env.JupyterBase+"api/status?token="+env.JupyterToken, nil)
	if err != nil {
		return err
	}
	resp, err := inside.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println("jupyter:", resp.Status)
	return nil
}
