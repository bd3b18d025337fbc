package mcpcmd

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/mcp"
)

// NewMCP makes the command seer mcp.
func NewMCP(base *cli.App) *cobra.Command {
	a := app{App: base}
	m := &mcpCommand{app: a}
	c := &cobra.Command{
		Use:   "mcp --connection FILE | --notebook ID|URL | --shell ID|FILE",
		Short: "Serve functions, a notebook or a sandbox as MCP tools",
		Long: `Serve the functions of a connection file as MCP tools, over standard input and
output. MCP clients run this command themselves; seer serve --as mcp writes their
configuration. Logs go to stderr.

A result is structured content, always an object ({"result": …} around anything else),
and the same JSON as text, truncated after 100 KiB. A result above 16 KiB
(--handle-above) stays in the sandbox as a handle. The tool handle-read reads it, and
other tools take it as an argument. A call that takes longer than its client waits
(--wait) continues, and call-result waits for it.

With --notebook, serve the notebooks of a sandbox with execution_mode: notebook:
sessions, cells, outputs, images. Give the sandbox, its jupyter_url with the token, or
env:NAME for a variable that has this URL. Seer saves the notebooks in --out after every
output.

With --shell, serve the whole sandbox: commands, a Python that keeps its variables,
files, processes. Give the sandbox or a session file. With --files, the tools also copy
files to and from that folder of this computer.

With --http, serve the streamable HTTP transport instead, to clients that send the token
of --http-token-file. Seer creates the file with a new token if it does not exist.
Without that flag, Seer makes a token for this run and shows it on stderr.`,
		Example: `  seer serve lab interface.py --as mcp --name model_tools --out .   # writes mcp.json
  npx @modelcontextprotocol/inspector --cli --config mcp.json --server model_tools --method tools/list
  seer mcp --connection model_tools.connection.json --http 127.0.0.1:8080 --http-token-file token`,
		Args: func(_ *cobra.Command, given []string) error { return m.checkSource(given) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.run(cmd.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&m.connection, "connection", "", "the connection `FILE` that seer serve wrote")
	f.StringVar(&m.notebook, "notebook", "", "serve the notebooks of `ID|URL`: a sandbox, its jupyter_url, or env:NAME")
	f.StringVar(&m.out, "out", "", "save notebooks in `DIR` (default $SEER_OUTPUTS or ./outputs); - saves none")
	f.StringVar(&m.session, "session", "", "attach to session `ID` of the notebook service at the start")
	f.StringVar(&m.shell, "shell", "", "serve the whole sandbox `ID|FILE`: a sandbox, or a session file")
	for _, flag := range []string{"notebook", "shell"} {
		_ = c.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return m.app.SandboxRefs(cmd.Context(), nil), cobra.ShellCompDirectiveDefault
		})
	}
	f.StringVar(&m.files, "files", "", "with --shell, let tools copy files to and from `DIR` of this computer")
	f.DurationVar(&m.wait, "wait", 0, "answer after this long if a tool has not finished, and let its call continue\n(default: 20s to 4m for known clients, 45s for others)")
	f.Int64Var(&m.handleAbove, "handle-above", mcp.DefaultHandleAbove, "keep results above this size in `BYTES` in the sandbox")
	f.BoolVar(&m.callIDs, "call-ids", false, "with --connection, end each result with [call:ID], by which an agent cites the call")
	f.StringVar(&m.http, "http", "", "serve HTTP at `ADDRESS`, such as 127.0.0.1:8080")
	f.StringVar(&m.tokenFile, "http-token-file", "", "`FILE` with the token that clients send; created if it does not exist")
	f.BoolVar(&m.public, "http-public", false, "allow an address beyond this machine; put a proxy with TLS before it")
	f.StringSliceVar(&m.hosts, "http-host", nil, "accept requests to host `NAME`, in addition to localhost")
	f.StringSliceVar(&m.origins, "http-origin", nil, "accept requests of pages of `ORIGIN`, such as https://app.example.org")
	return c
}

// checkSource finds that not exactly one thing is to be served.
func (m *mcpCommand) checkSource(given []string) error {
	sources := 0
	for _, s := range []string{m.connection, m.notebook, m.shell} {
		if s != "" {
			sources++
		}
	}
	if len(given) > 0 || sources != 1 {
		return cli.Usagef("seer mcp needs one of --connection FILE (the connection.json that seer serve wrote), --notebook ID|URL and --shell ID|FILE")
	}
	return m.check()
}

// mcpCommand is the command line of seer mcp.
type mcpCommand struct {
	app         app
	connection  string
	notebook    string
	shell       string
	out         string
	session     string
	files       string
	wait        time.Duration
	handleAbove int64
	callIDs     bool

	http, tokenFile string
	public          bool
	hosts, origins  []string
}

func (m *mcpCommand) check() error {
	switch {
	case m.notebook == "" && (m.out != "" || m.session != ""):
		return cli.Usagef("--out and --session go with --notebook")
	case m.shell == "" && m.files != "":
		return cli.Usagef("--files goes with --shell")
	case m.connection == "" && m.callIDs:
		return cli.Usagef("--call-ids goes with --connection")
	case m.wait < 0 || m.wait > 0 && m.wait < time.Second:
		return cli.Usagef("--wait %s is too short; a second is the least", m.wait)
	case m.handleAbove <= 0:
		return cli.Usagef("--handle-above needs a number of bytes, at least 1")
	case m.http == "" && (m.tokenFile != "" || m.public || m.hosts != nil || m.origins != nil):
		return cli.Usagef("--http-token-file, --http-public, --http-host and --http-origin go with --http ADDRESS")
	case m.http != "":
		return m.checkAddress()
	}
	return nil
}

// run serves what was asked for until the client goes away.
func (m *mcpCommand) run(ctx context.Context) error {
	switch {
	case m.notebook != "":
		return m.runNotebook(ctx)
	case m.shell != "":
		return m.runShell(ctx)
	}
	// Read here first, so that a file that is no connection is said as such.
	if _, err := client.ReadConnection(m.connection); err != nil {
		return cli.ConnectionError(err)
	}
	o := mcp.Options{Version: m.app.Version(), Logger: m.app.mcpLogger(), Wait: m.wait, HandleAbove: m.handleAbove, CallIDs: m.callIDs}
	if m.http != "" {
		return m.serveHTTP(ctx, func(g mcp.Guard) (http.Handler, func(), error) {
			return mcp.Handler(ctx, mcp.FromFile(m.connection), g, o)
		})
	}
	return cli.ProviderError(mcp.Serve(ctx, mcp.FromFile(m.connection), m.transport(), o))
}

// transport is standard input and output.
func (m *mcpCommand) transport() sdkmcp.Transport {
	return &sdkmcp.IOTransport{Reader: io.NopCloser(m.app.UI.In), Writer: m.app.UI.Out}
}

// mcpLogger keeps JSON off a client's screen, which shows stderr as it is.
func (a app) mcpLogger() hclog.Logger { return a.Logger().Named("mcp") }
