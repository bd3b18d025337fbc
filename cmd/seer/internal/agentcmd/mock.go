// Package agentcmd has the commands that are about the programs of agents.
package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/agent/mockmodel"
)

const mockLong = `Serve a scripted model, to which agents can be pointed in place of a real one: it
calls the tools that the script says, and costs nothing. It speaks Anthropic's
Messages, OpenAI's Responses and Chat Completions, and Gemini's generateContent.

The address is the first line of the output. docs/mock-model.md describes the
script, and says by which variable each agent finds the model.`

// New makes the family of commands.
func New(a *cli.App) *cobra.Command {
	return cli.Family("agent", "Test agents against a scripted model", newDoctor(a), newMock(a))
}

type mockCommand struct {
	app         *cli.App
	listen, log string
}

func newMock(a *cli.App) *cobra.Command {
	m := &mockCommand{app: a}
	c := &cobra.Command{
		Use: "mock SCRIPT", Short: "Serve a scripted model for agents", Long: mockLong,
		Example: `  seer agent mock script.yaml --log requests.jsonl`,
		Args:    cli.Args(1, 1, "the script"),
		RunE:    func(cmd *cobra.Command, given []string) error { return m.run(cmd.Context(), given[0]) },
	}
	c.Flags().StringVar(&m.listen, "listen", "127.0.0.1:0", "address, of this computer only; port 0 = any that is free")
	c.Flags().StringVar(&m.log, "log", "", "append each request and its answer to this file, as a line of JSON; keys are left out")
	return c
}

func (m *mockCommand) run(ctx context.Context, path string) error {
	host, _, err := net.SplitHostPort(m.listen)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.Usagef("--listen %s is not an address of this computer; use 127.0.0.1:PORT", m.listen)
	}
	script, err := mockmodel.Load(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &engine.Error{Kind: engine.KindNotFound, Err: err}
	case err != nil:
		return &engine.Error{Kind: engine.KindConfig, Err: err}
	}
	var log io.Writer
	if m.log != "" {
		f, err := os.OpenFile(m.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		log = f
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.listen)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	err = m.app.Print(map[string]string{"url": url}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, url)
		return err
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	model := mockmodel.New(script, log)
	server := &http.Server{Handler: model, ReadHeaderTimeout: 10 * time.Second}
	err = cli.ServeUntil(ctx, server, listener)
	if lost := model.Err(); lost != nil {
		return fmt.Errorf("the log %s lacks requests: %w; free some space or choose another file", m.log, lost)
	}
	return err
}
