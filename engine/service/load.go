package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/client"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// maxSource is far above any interface a person writes, and low enough to keep a
// model file given by mistake out of a request.
const maxSource = 16 << 20

// Spec is an interface to be served.
type Spec struct {
	Sandbox     string        // ID, for the connection
	Endpoint    string        // of the runtime, for the connection
	Name        string        // of the service
	File        string        // the interface on this computer
	Token       string        // of the service served before under this name, to keep its connections; empty = new
	LoadTimeout time.Duration // 0 = the runtime's own, 30 minutes
	Limits      protocol.Limits
	Record      bool // the journal keeps everything until it has been read
	InPlace     bool // the running worker takes the file over, if that is safe
}

// Loaded is a loaded interface and the way to it.
type Loaded struct {
	Connection client.Connection
	Interface  sdk.Interface
	InPlace    *protocol.InPlace // what became of the wish to take the file over; nil = there was none
}

// Load loads the interface in a worker of its own and waits until it answers.
// An interface that does not load is a [*protocol.CallError] with the user's own
// traceback; what was served under the name before then stays as it was. When
// ctx ends while it loads, that load is ended too.
func Load(ctx context.Context, runtime *client.Client, s Spec) (Loaded, error) {
	code, err := source(s.File)
	if err != nil {
		return Loaded{}, err
	}
	token := s.Token
	if token == "" {
		token = protocol.NewToken()
	}
	put, err := runtime.Services().Put(ctx, s.Name, protocol.ServiceSpec{
		Filename: filepath.Base(s.File), Code: code, TokenSHA256: protocol.HashToken(token),
		LoadTimeoutSeconds: s.LoadTimeout.Seconds(), Limits: s.Limits, Record: s.Record, InPlace: s.InPlace,
	})
	if err != nil {
		return Loaded{}, err
	}
	got, err := runtime.Services().Wait(ctx, s.Name, put.Generation)
	if err != nil {
		if ctx.Err() != nil {
			abandon(ctx, runtime, s.Name, put.Generation)
		}
		return Loaded{}, err
	}
	if got.State != protocol.ServiceReady || got.Interface == nil {
		return Loaded{}, failure(s.File, got)
	}
	return Loaded{
		Connection: client.Connection{
			Version: client.ConnectionVersion, Sandbox: s.Sandbox, Service: s.Name, Endpoint: s.Endpoint, Token: token,
		},
		Interface: *got.Interface, InPlace: got.InPlace,
	}, nil
}

// source reads the interface as the text that Python will read.
func source(file string) (string, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", sdk.Errorf(sdk.NotFound, "there is no interface file %s", file)
	case err != nil:
		return "", fmt.Errorf("read the interface: %w", err)
	case info.IsDir():
		return "", sdk.Errorf(sdk.Invalid, "the interface %s is a folder; give the Python file", file)
	case info.Size() > maxSource:
		return "", sdk.Errorf(sdk.Invalid, "the interface %s has %d bytes, more than the limit of %d for a Python file", file, info.Size(), maxSource)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the interface: %w", err)
	}
	if !utf8.Valid(data) {
		return "", sdk.Errorf(sdk.Invalid, "the interface %s is not UTF-8 text; save it as UTF-8", file)
	}
	return string(data), nil
}

// failure is why a service that came back is not ready.
func failure(file string, s protocol.Service) error {
	if s.Error != nil {
		return &LoadError{File: file, Err: s.Error}
	}
	return &LoadError{File: file, Err: &protocol.CallError{
		Code: protocol.CallLoadFailed, Message: fmt.Sprintf("the service %s is %s", s.Name, s.State),
	}}
}

// abandon stops a load that nobody waits for any more, which may never end.
func abandon(ctx context.Context, runtime *client.Client, name string, generation int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = runtime.Services().Abandon(ctx, name, generation)
}

// LoadError is an interface that did not load.
type LoadError struct {
	File string // on this computer
	Err  *protocol.CallError
}

func (e *LoadError) Error() string {
	text := fmt.Sprintf("%s did not load: %s", e.File, e.Err)
	if e.Err.Traceback != "" {
		text += "\n" + e.Err.Traceback
	}
	return text
}

// Unwrap is the failure as the runtime reported it.
func (e *LoadError) Unwrap() error { return e.Err }
