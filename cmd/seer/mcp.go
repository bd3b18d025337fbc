package main

import (
	"io"

	"github.com/hashicorp/go-hclog"
	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/engine/mcp"
	"github.com/seer-engine/seer/engine/protocol"
)

func newMCP(a *app) *cobra.Command {
	var connection string
	c := &cobra.Command{
		Use:   "mcp --connection FILE",
		Short: "Serve functions as MCP tools, over standard input and output",
		Long: `Serve the functions of a connection file as MCP tools, over standard input and
output. MCP clients start this themselves: seer serve --as mcp writes the
configuration for them. Logs go to stderr.

A result is structured content that is always an object ({"result": …} around
anything else), and the same JSON as text. Text is cut after 100 KiB; a result
above 8 MiB is refused.`,
		Example: `  seer serve lab interface.py --as mcp --name model_tools --out .   # writes mcp.json
  npx @modelcontextprotocol/inspector --cli --config mcp.json --server model_tools --method tools/list`,
		Args: func(_ *cobra.Command, given []string) error {
			if len(given) > 0 || connection == "" {
				return usagef("seer mcp needs --connection FILE, the connection.json that seer serve wrote")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Read here first, so that a file that is no connection is said as such.
			if _, err := protocol.ReadConnection(connection); err != nil {
				return connectionError(err)
			}
			transport := &sdkmcp.IOTransport{Reader: io.NopCloser(a.in), Writer: a.ui.out}
			err := mcp.Serve(cmd.Context(), mcp.FromFile(connection), transport, mcp.Options{Version: version, Logger: a.mcpLogger()})
			return providerError(err)
		},
	}
	c.Flags().StringVar(&connection, "connection", "", "the connection `FILE` that seer serve wrote")
	return c
}

// mcpLogger keeps JSON off a client's screen, which shows stderr as it is.
func (a *app) mcpLogger() hclog.Logger { return a.logger().Named("mcp") }
