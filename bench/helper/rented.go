package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/plugins/provider-modal/modal"
	"github.com/seer-engine/seer/plugins/provider-runpod/runpod"
	"github.com/seer-engine/seer/sdk"
)

// rented is a cloud with a running machine and two ways to ask for it: the plugin in
// Wasm, and its code as a part of this program.
func (h *helper) rented(ctx context.Context, r request) (*cloud, error) {
	c := h.clouds[r.Cloud]
	if c == nil {
		return nil, fmt.Errorf("the cloud %q does not run", r.Cloud)
	}
	if c.wasm != nil {
		return c, nil
	}
	name := map[string]string{"page": "runpod"}[r.Cloud]
	if name == "" {
		name = r.Cloud
	}
	var err error
	if c.host, err = host.New(host.Options{Dirs: []string{h.plugins}, CacheDir: r.Dir, Access: host.GrantAll, Env: func(variable string) (string, string, bool) {
		value, ok := c.env[variable]
		return value, "environment", ok
	}}); err != nil {
		return nil, err
	}
	if c.wasm, err = c.host.Provider(ctx, name); err != nil {
		return nil, err
	}
	if c.native, err = native(name, c.env); err != nil {
		return nil, err
	}
	if c.handle == "" {
		c.handle, err = rent(ctx, c.wasm)
	}
	return c, err
}

// rent rents a machine that does nothing and waits until it runs.
func rent(ctx context.Context, p sdk.Provider) (string, error) {
	spec := sdk.MachineSpec{
		Key: "seer-bench00000000000000000", Owner: "bench", Name: "bench", Command: []string{"sleep", "3600"}, Port: 8000,
		TimeoutSeconds: 3600, EndUnix: time.Now().Add(time.Hour).Unix(),
	}
	var step sdk.CreateStep
	for step.Handle == "" {
		var err error
		if step, err = p.Create(ctx, spec, step.Cursor); err != nil {
			return "", err
		}
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		seen, err := p.Observe(ctx, []string{step.Handle})
		if err != nil {
			return "", err
		}
		if seen[0].State == sdk.Running {
			return step.Handle, nil
		}
	}
	return "", errors.New("the machine does not run after a minute")
}

// observe asks for the machine, in Wasm or natively.
func (h *helper) observe(ctx context.Context, r request) (any, error) {
	c, err := h.rented(ctx, r)
	if err != nil {
		return nil, err
	}
	p := c.wasm
	if r.Native {
		p = c.native
	}
	return repeat(r.Count, func() error {
		seen, err := p.Observe(ctx, []string{c.handle})
		if err == nil && (len(seen) != 1 || seen[0].State != sdk.Running) {
			err = fmt.Errorf("observed %+v", seen)
		}
		return err
	})
}

// describe calls a plugin that needs nobody for its answer.
func (h *helper) describe(ctx context.Context, r request) (any, error) {
	c, err := h.rented(ctx, r)
	if err != nil {
		return nil, err
	}
	return repeat(r.Count, func() error {
		_, err := c.wasm.Describe(ctx)
		return err
	})
}

// get is a plain request for the page of a KiB.
func (h *helper) get(ctx context.Context, r request) (any, error) {
	url := h.clouds["page"].env["RUNPOD_API_BASE_URL"] + "/v2/pods"
	return repeat(r.Count, func() error {
		resp, err := plainGet(ctx, url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var page struct{ Pods []json.RawMessage }
		return json.NewDecoder(resp.Body).Decode(&page)
	})
}

// native is the plugin's own code without Wasm and without a host between: what the
// host does for it, to add the credential, is all that is done here.
func native(name string, env map[string]string) (sdk.Provider, error) {
	switch name {
	case "modal":
		url := env["MODAL_SERVER_URL"]
		conn, err := grpc.NewClient("passthrough:///"+strings.TrimPrefix(url, "http://"),
			grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(authorize(env)))
		settings := map[string]string{"server_url": url, "sandbox_v2": "true"}
		return &modal.Provider{
			Settings: func() (map[string]string, error) { return settings, nil },
			Dial:     func(string) (grpc.ClientConnInterface, error) { return conn, nil },
		}, err
	case "runpod":
		settings := map[string]string{"api_url": env["RUNPOD_API_BASE_URL"], "proxy_url": env["RUNPOD_PROXY_URL"]}
		return &runpod.Provider{
			Settings:  func() (map[string]string, error) { return settings, nil },
			Transport: bearer(env["RUNPOD_API_KEY"]),
		}, nil
	}
	return nil, fmt.Errorf("there is no native provider %q", name)
}

func authorize(env map[string]string) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		md, _ := metadata.FromOutgoingContext(ctx)
		md = md.Copy()
		if len(md.Get("x-modal-token-id")) > 0 {
			maps.Copy(md, metadata.Pairs("x-modal-token-id", env["MODAL_TOKEN_ID"], "x-modal-token-secret", env["MODAL_TOKEN_SECRET"]))
		}
		return next(metadata.NewOutgoingContext(ctx, md), method, req, reply, conn, opts...)
	}
}

// bearer adds a key to requests.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}
