package main

import (
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
)

func newMCP(a *app) *cobra.Command {
	m := &mcpCommand{app: a}
	c := &cobra.Command{
		Use:   "mcp --connection FILE",
		Short: "Serve functions as MCP tools, over standard input and output or HTTP",
		Long: `Serve the functions of a connection file as MCP tools, over standard input and
output. MCP clients start this themselves: seer serve --as mcp writes the
configuration for them. Logs go to stderr.

A result is structured content that is always an object ({"result": …} around
anything else), and the same JSON as text, which is cut after 100 KiB. A result
above 16 KiB (--handle-above) stays in the sandbox as a handle, which the tool
handle-read looks into and other tools take as an argument. A call that takes
longer than its client waits (--wait) goes on, and call-result waits for it.

With --http it serves the streamable HTTP transport instead, to clients that bring
the token of --http-token-file. That file is made with a new token where there is
none; without the flag a token is made for this run and shown on stderr.`,
		Example: `  seer serve lab interface.py --as mcp --name model_tools --out .   # writes mcp.json
  npx @modelcontextprotocol/inspector --cli --config mcp.json --server model_tools --method tools/list
  seer mcp --connection model_tools.connection.json --http 127.0.0.1:8080 --http-token-file token`,
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 || m.connection == "" {
				return usagef("seer mcp needs --connection FILE, the connection.json that seer serve wrote")
			}
			return m.check()
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Read here first, so that a file that is no connection is said as such.
			if _, err := protocol.ReadConnection(m.connection); err != nil {
				return connectionError(err)
			}
			o := mcp.Options{Version: version, Logger: a.mcpLogger(), Wait: m.wait, HandleAbove: m.handleAbove}
			if m.http != "" {
				return m.serveHTTP(cmd.Context(), o)
			}
			transport := &sdkmcp.IOTransport{Reader: io.NopCloser(a.in), Writer: a.ui.out}
			return providerError(mcp.Serve(cmd.Context(), mcp.FromFile(m.connection), transport, o))
		},
	}
	f := c.Flags()
	f.StringVar(&m.connection, "connection", "", "the connection `FILE` that seer serve wrote")
	f.DurationVar(&m.wait, "wait", 0, "how long a tool is waited for before its call goes on by itself (default: what the client is known to wait, otherwise 45s)")
	f.Int64Var(&m.handleAbove, "handle-above", mcp.DefaultHandleAbove, "size in `BYTES` of a result that stays in the sandbox")
	f.StringVar(&m.http, "http", "", "serve HTTP at `ADDRESS`, such as 127.0.0.1:8080, instead of standard input and output")
	f.StringVar(&m.tokenFile, "http-token-file", "", "`FILE` with the token that clients bring; made where there is none")
	f.BoolVar(&m.public, "http-public", false, "allow an address beyond this machine; TLS is left to a proxy")
	f.StringSliceVar(&m.hosts, "http-host", nil, "`NAME` under which clients may reach it besides localhost")
	f.StringSliceVar(&m.origins, "http-origin", nil, "`ORIGIN` whose pages may ask, such as https://app.example.org")
	return c
}

// mcpCommand is the command line of seer mcp.
type mcpCommand struct {
	app         *app
	connection  string
	wait        time.Duration
	handleAbove int64

	http, tokenFile string
	public          bool
	hosts, origins  []string
}

func (m *mcpCommand) check() error {
	switch {
	case m.wait < 0 || m.wait > 0 && m.wait < time.Second:
		return usagef("--wait %s is too short; a second is the least", m.wait)
	case m.handleAbove <= 0:
		return usagef("--handle-above needs a number of bytes, at least 1")
	case m.http == "" && (m.tokenFile != "" || m.public || m.hosts != nil || m.origins != nil):
		return usagef("--http-token-file, --http-public, --http-host and --http-origin go with --http ADDRESS")
	case m.http != "":
		return m.checkAddress()
	}
	return nil
}

// mcpLogger keeps JSON off a client's screen, which shows stderr as it is.
func (a *app) mcpLogger() hclog.Logger { return a.logger().Named("mcp") }
