package surface

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/sdk"
)

// WriteMCPConfig puts servers into the `mcpServers` object of the JSON file at
// path, which agents read. Other servers and other keys of an existing file stay;
// a file that is not such an object is refused and left alone, and so is one with a
// server of the same name that is somebody else's.
func WriteMCPConfig(ctx context.Context, path string, servers map[string]sdk.MCPServer, records Records) error {
	config := map[string]json.RawMessage{}
	known := map[string]json.RawMessage{}
	// The file may lie in an agent's workspace, where a link could lead anywhere.
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	rec, err := records.Open(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer rec.Close()
	data, err := plainfile.Read(root, filepath.Base(path), maxOld)
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
		key := filepath.Base(path) + "#" + name
		if old, taken := known[name]; taken && !rec.Wrote(key, entrySum(old)) && !seers(old) {
			return fmt.Errorf("%s has another MCP server %q, so none was added to it; rename or remove that one", path, name)
		}
		known[name] = entry
		rec.Note(key, entrySum(entry))
	}
	if err := rec.Save(); err != nil {
		return err
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

// entrySum is the SHA-256 of an entry, however it is indented.
func entrySum(entry json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, entry) != nil {
		return ""
	}
	return Sum(b.Bytes())
}

// seers reports whether an entry starts Seer for some connection, which no user writes by
// hand: it is of a surface that another version or another copy of Seer wrote.
func seers(entry json.RawMessage) bool {
	var old sdk.MCPServer
	return json.Unmarshal(entry, &old) == nil && len(old.Args) > 1 && old.Args[0] == "mcp" && old.Args[1] == "--connection"
}
