package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// endpoint is where a runtime listens.
type endpoint struct {
	text string
	unix string // path of the socket; empty for a tunnel
	base string // scheme, host and path of a tunnel's URLs
}

// insideBase begins the URLs of requests that travel over connections of our own.
const insideBase = "http://sandbox"

func parseEndpoint(text string) (endpoint, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return endpoint{}, fmt.Errorf("the endpoint %q needs an absolute path behind unix: and nothing else", text)
		}
		return endpoint{text: text, unix: path, base: insideBase}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return endpoint{}, fmt.Errorf("the endpoint %q is none of unix:/path, http://host:port and https://host", text)
	}
	return endpoint{text: text, base: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")}, nil
}

// transport reaches the endpoint as it is. It keeps to HTTP/1.1, without which
// there are no websockets.
func (e endpoint) transport() *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		Protocols:           protocols,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
		TLSHandshakeTimeout: dialTimeout,
	}
}

// over is a transport on connections of our own. It keeps them: a new one through
// a tunnel costs many times a call.
func (e endpoint) over(dial func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
	}
}

func (e endpoint) dialUnix(ctx context.Context) (net.Conn, error) {
	return dialUnix(ctx, &net.Dialer{Timeout: dialTimeout}, e.unix)
}

const dialTimeout = 15 * time.Second

// maxUnixPath is what fits into sockaddr_un everywhere.
const maxUnixPath = 103
