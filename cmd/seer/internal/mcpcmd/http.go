package mcpcmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/mcp"
)

// checkAddress keeps what is not meant for others on this machine.
func (m *mcpCommand) checkAddress() error {
	host, _, err := net.SplitHostPort(m.http)
	if err != nil {
		return cli.Usagef("--http %s is not an address; use 127.0.0.1:PORT", m.http)
	}
	ip := net.ParseIP(host)
	if host == "localhost" || ip != nil && ip.IsLoopback() || m.public {
		return nil
	}
	return cli.Usagef("--http %s can be reached from elsewhere; use 127.0.0.1:PORT, or add --http-public if that is meant", m.http)
}

func (m *mcpCommand) serveHTTP(ctx context.Context, handlerOf func(mcp.Guard) (http.Handler, func(), error)) error {
	token, made, err := m.token()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.http)
	if err != nil {
		return err
	}
	defer listener.Close()
	handler, end, err := handlerOf(mcp.Guard{Token: token, Hosts: m.hosts, Origins: m.origins})
	if err != nil {
		return cli.ProviderError(err)
	}
	defer end()
	if err := m.tellAddress(fmt.Sprintf("http://%s/", listener.Addr()), token, made); err != nil {
		return err
	}
	return cli.ServeUntil(ctx, &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}, listener)
}

// httpServer is where the tools are, under --json. Token is set where it is in no file.
type httpServer struct {
	URL   string `json:"url"`
	Token string `json:"token,omitempty"`
}

// tellAddress prints where the tools are, with the token if it was made for this run.
func (m *mcpCommand) tellAddress(url, token string, made bool) error {
	told := httpServer{URL: url}
	if made {
		told.Token = token
	}
	return m.app.Print(told, func(w io.Writer) error {
		if made {
			fmt.Fprintf(m.app.UI.Stderr(), "token: %s\n", token)
		}
		_, err := fmt.Fprintln(w, url)
		return err
	})
}

// token is the one of the file, or a new one, which is to be shown where there is no file.
func (m *mcpCommand) token() (token string, show bool, err error) {
	if m.tokenFile == "" {
		return rand.Text(), true, nil
	}
	data, err := os.ReadFile(m.tokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		token := rand.Text()
		return token, false, os.WriteFile(m.tokenFile, []byte(token+"\n"), 0o600)
	}
	token = strings.TrimSpace(string(data))
	if err == nil && len(token) < mcp.MinToken {
		return "", false, &engine.Error{Kind: engine.KindConfig, Err: fmt.Errorf("%s holds no token of at least %d characters; remove it, and a new one is made", m.tokenFile, mcp.MinToken)}
	}
	return token, false, err
}
