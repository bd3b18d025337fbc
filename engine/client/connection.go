package client

import (
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
}

// ConnectionVersion is the version of the connection file.
const ConnectionVersion = 1

// ReadConnection reads a connection file.
func ReadConnection(path string) (Connection, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Connection{}, fmt.Errorf("there is no connection file %s: serve the interface again to get one: %w", path, err)
	}
	if err != nil {
		return Connection{}, fmt.Errorf("read the connection file: %w", err)
	}
	var c Connection
	if err := json.Unmarshal(data, &c); err != nil {
		return Connection{}, fmt.Errorf("the connection file %s is not valid JSON: %w", path, err)
	}
	if err := c.validate(); err != nil {
		return Connection{}, fmt.Errorf("the connection file %s: %w", path, err)
	}
	return c, nil
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
	if err := c.validate(); err != nil {
		return fmt.Errorf("write the connection file %s: %w", path, err)
	}
	data, err := json.MarshalIndent(c, "", "  ")
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

// Client makes a client that can only call the connection's service.
func (c Connection) Client() (*Client, error) { return New(c.Endpoint, c.Token) }
