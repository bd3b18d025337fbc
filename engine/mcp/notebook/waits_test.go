package notebook_test

import (
	"io"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	mcpnotebook "github.com/seer-engine/seer/engine/mcp/notebook"
	"github.com/seer-engine/seer/engine/notebook"
)

// lines gives each line that a logger writes to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// Whoever starts the server where nobody listens is told what it waits for, and then that
// it was in vain, before a client's own patience is over.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	said := make(lines, 10)
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: said})
	reader, writer := io.Pipe()
	defer writer.Close()
	o := mcpnotebook.Options{Address: notebook.Address{URL: "http://127.0.0.1:1/", Token: "t0ken"}, OutDir: "-", Logger: log}
	err := mcpnotebook.Serve(t.Context(), o, &mcp.IOTransport{Reader: reader, Writer: writer})
	if err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1/ cannot be reached") {
		t.Errorf("err = %v", err)
	}
	line := <-said
	if !strings.Contains(line, "no answer from Jupyter yet") || !strings.Contains(line, "http://127.0.0.1:1/") || strings.Contains(line, "t0ken") {
		t.Errorf("said %q", line)
	}
}
