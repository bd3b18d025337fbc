package mcpcmd

import (
	"context"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/engine/protocol"
)

// runShell serves a whole sandbox.
func (m *mcpCommand) runShell(ctx context.Context) error {
	source, done, err := m.shellSource(ctx)
	if err != nil {
		return err
	}
	defer done()
	o := shell.Options{Version: m.app.Version(), Logger: m.app.mcpLogger(), Wait: m.wait, Files: m.files}
	if m.http != "" {
		return m.serveHTTP(ctx, func(g mcp.Guard) (http.Handler, func(), error) { return shell.Handler(ctx, source, g, o) })
	}
	return cli.ProviderError(shell.Serve(ctx, source, m.transport(), o))
}

// namesFile reports whether what is no sandbox was meant to be a file.
func namesFile(ref string) bool {
	return strings.HasSuffix(ref, ".json") || strings.Contains(ref, "/")
}

// shellSource is a session file, or a new key to a sandbox, which is revoked at the end.
func (m *mcpCommand) shellSource(ctx context.Context) (shell.Source, func(), error) {
	if info, err := os.Stat(m.shell); err == nil && !info.IsDir() {
		if _, err := client.ReadSession(m.shell); err != nil {
			return nil, nil, cli.ConnectionError(err)
		}
		return shell.FromFile(m.shell), func() {}, nil
	}
	s, err := m.app.Open(ctx, m.shell)
	if engine.KindOf(err) == engine.KindNotFound && namesFile(m.shell) {
		if _, missing := client.ReadSession(m.shell); missing != nil {
			err = cli.ConnectionError(missing)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	name := "mcp-" + protocol.NewToken()[:12]
	key, err := s.Shell(ctx, name)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return shell.Fixed(key), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = s.EndShell(ctx, name) // of a sandbox that has ended, nothing is left to revoke
		s.Close()
	}, nil
}
