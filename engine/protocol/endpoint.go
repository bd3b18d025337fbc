package protocol

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
	unix string // path of the socket; empty for TCP
	base string // scheme and host of request URLs
}

func parseEndpoint(text string) (endpoint, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if !strings.HasPrefix(path, "/") {
			return endpoint{}, fmt.Errorf("the endpoint %q needs an absolute path behind unix: and nothing else", text)
		}
		return endpoint{text: text, unix: path, base: "http://sandbox"}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return endpoint{}, fmt.Errorf("the endpoint %q is none of unix:/path, http://host:port and https://host", text)
	}
	return endpoint{text: text, base: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")}, nil
}

// transport keeps connections: a new one through a tunnel costs many times a
// call.
func (e endpoint) transport() *http.Transport {
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
		TLSHandshakeTimeout: 15 * time.Second,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
	}
	dialer := &net.Dialer{Timeout: 15 * time.Second}
	t.DialContext = dialer.DialContext
	if e.unix != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialUnix(ctx, dialer, e.unix)
		}
	}
	return t
}

// maxUnixPath is what fits into sockaddr_un everywhere.
const maxUnixPath = 103
