package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Connection is where a service is and the token that can call it and nothing
// else. It is the content of connection.json.
type Connection struct {
	Version  int    `json:"version"`
	Sandbox  string `json:"sandbox"`
	Service  string `json:"service"`
	Endpoint string `json:"endpoint"` // unix:/path, http://… or https://…
	Token    string `json:"token"`

	mend *func(context.Context) bool // a pointer, so that connections can be compared
	fate *fate
}

// ConnectionVersion is the version of the connection file.
const ConnectionVersion = 1

// ReadConnection reads a connection file.
func ReadConnection(path string) (Connection, error) {
	return readTokenFile[Connection]("connection", "serve the interface again to get one", path)
}

func (c Connection) validate() error {
	if c.Version != ConnectionVersion {
		return fmt.Errorf("version %d is not the version %d that this program reads", c.Version, ConnectionVersion)
	}
	if c.Service == "" || c.Token == "" {
		return errors.New("service and token must not be empty")
	}
	_, err := parseEndpoint(c.Endpoint)
	return err
}

// Write stores the connection at path, readable by its owner alone. A reader
// sees the old file or the new one, never a part.
func (c Connection) Write(path string) error {
	c.Version = ConnectionVersion
	return writeTokenFile("connection", path, c)
}

// Client makes a client that can only call the connection's service.
func (c Connection) Client() (*Client, error) {
	made, err := New(c.Endpoint, c.Token)
	if err == nil && c.mend != nil {
		made.Mend(*c.mend)
	}
	if err == nil {
		made.fate = c.fate
	}
	return made, err
}

// Mended is the same connection, whose clients repair the machine, and learn that it has ended, as
// another client of it does; see [Client.Mend] and [Client.Fate]. A file does not keep that.
func (c Connection) Mended(as *Client) Connection {
	if as.mend != nil {
		c.mend = &as.mend
	}
	c.fate = as.fate
	return c
}

// tokenFile is the content of a file with a token: a [Connection] or a [Session].
type tokenFile interface{ validate() error }

// readTokenFile reads such a file. The errors call it kind; again says how to get another
// one.
func readTokenFile[T tokenFile](kind, again, path string) (T, error) {
	var content, none T
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, fmt.Errorf("there is no %s file %s: %s: %w", kind, path, again, err)
	}
	if err != nil {
		return none, fmt.Errorf("read the %s file: %w", kind, err)
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return none, fmt.Errorf("the %s file %s is not valid JSON: %w", kind, path, err)
	}
	if err := content.validate(); err != nil {
		return none, fmt.Errorf("the %s file %s: %w", kind, path, err)
	}
	return content, nil
}

// writeTokenFile stores content at path, readable by its owner alone. A reader sees the old
// file or the new one, never a part.
func writeTokenFile(kind, path string, content tokenFile) error {
	if err := content.validate(); err != nil {
		return fmt.Errorf("write the %s file %s: %w", kind, path, err)
	}
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return writeFileAtomic(path, append(data, '\n'))
}

// writeFileAtomic relies on os.CreateTemp making files of mode 0600.
func writeFileAtomic(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
