package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/surface"
	"github.com/seer-engine/seer/sdk"
)

// Files beside a surface for agents that read them; seer run uses the same names.
const (
	MCPConfigFile = "mcp.json"
	promptFile    = "prompt.md"
)

// WriteSurface writes the files of a surface, and for the parts that are no files
// those that agents usually read.
func WriteSurface(ctx context.Context, out string, made sdk.Surface, service interface{ Connection() client.Connection }, records surface.Records) (surface.Written, error) {
	seer, err := os.Executable()
	if err != nil {
		return surface.Written{}, err
	}
	w, err := surface.Write(ctx, out, made, surface.Target{Connection: service.Connection(), Seer: seer, Records: records, PromptFile: promptFile})
	if err != nil || len(w.MCPServers) == 0 {
		return w, err
	}
	dir, err := filepath.Abs(out)
	if err != nil {
		return w, err
	}
	path := filepath.Join(dir, MCPConfigFile)
	if err := surface.WriteMCPConfig(ctx, path, w.MCPServers, records); err != nil {
		return w, err
	}
	w.Files = append(w.Files, path)
	return w, nil
}
