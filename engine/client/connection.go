package client

import (
	"errors"
	"fmt"
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
func (c Connection) Client() (*Client, error) { return New(c.Endpoint, c.Token) }
