package surface

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/sdk"
)

// WriteMCPConfig puts servers into the `mcpServers` object of the JSON file at
// path, which agents read. Other servers and other keys of an existing file stay;
// a file that is not such an object is refused and left alone, and so is one with a
// server of the same name that is somebody else's.
func WriteMCPConfig(path string, servers map[string]sdk.MCPServer) error {
	config := map[string]json.RawMessage{}
	known := map[string]json.RawMessage{}
	// The file may lie in an agent's workspace, where a link could lead anywhere.
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	data, err := root.ReadFile(filepath.Base(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, &config); err != nil {
			return fmt.Errorf("%s is not a JSON object, so no server was added to it; mend or remove it: %w", path, err)
		}
		if old, ok := config["mcpServers"]; ok {
			if err := json.Unmarshal(old, &known); err != nil {
				return fmt.Errorf("%s: mcpServers is not an object, so no server was added to it; mend or remove it: %w", path, err)
			}
		}
	}
	for name, server := range servers {
		entry, err := json.Marshal(server)
		if err != nil {
			return err
		}
		if old, taken := known[name]; taken && !replaceable(old, server) {
			return fmt.Errorf("%s has another MCP server %q, so none was added to it; rename or remove that one", path, name)
		}
		known[name] = entry
	}
	if config["mcpServers"], err = json.Marshal(known); err != nil {
		return err
	}
	data, err = json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	// Entries may carry variables; only the user needs to read them.
	return writeFile(root, filepath.Base(path), append(data, '\n'), 0o600)
}

// replaceable reports whether an entry is of a surface that was written before: the
// same program, or Seer's for some connection.
func replaceable(entry json.RawMessage, server sdk.MCPServer) bool {
	var old sdk.MCPServer
	if json.Unmarshal(entry, &old) != nil {
		return false
	}
	seers := len(old.Args) > 1 && old.Args[0] == "mcp" && old.Args[1] == "--connection"
	return seers || old.Command == server.Command
}
