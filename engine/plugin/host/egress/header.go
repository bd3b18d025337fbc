package egress

import (
	"encoding/base64"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/seer-engine/seer/sdk"
)

// header is headers or metadata, by names in small letters.
type header map[string][]string

// hostHeaders are set by the host alone: they say where a request goes and how it is
// framed.
var hostHeaders = []string{"host", "connection", "content-length", "expect", "keep-alive", "te", "trailer",
	"transfer-encoding", "upgrade", "http2-settings", "proxy-authenticate", "proxy-authorization", "proxy-connection",
	"forwarded", "x-forwarded-host", "x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url"}

// forbiddenHeader reports whether neither a plugin nor a binding may set a header.
func forbiddenHeader(name string) bool {
	return slices.Contains(hostHeaders, name) || strings.HasPrefix(name, "grpc-") || !httpguts.ValidHeaderFieldName(name)
}

// httpHeader checks what a plugin wants to send with HTTP. Accept-Encoding is
// dropped: answers come uncompressed.
func httpHeader(in map[string][]string, limit int) (header, error) {
	out, err := plainHeader(in, limit)
	if err == nil {
		delete(out, "accept-encoding")
	}
	return out, err
}

// grpcHeader checks metadata, and decodes binary values. What gRPC itself sets
// (content-type, user-agent) is dropped.
func grpcHeader(in map[string][]string, limit int) (header, error) {
	out, err := plainHeader(in, limit)
	if err != nil {
		return nil, err
	}
	delete(out, "content-type")
	delete(out, "user-agent")
	for name, values := range out {
		if !strings.HasSuffix(name, "-bin") {
			continue
		}
		for i, v := range values {
			raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(v, "="))
			if err != nil {
				return nil, sdk.Errorf(sdk.Invalid, "the value of the metadata key %s is not base64", name)
			}
			values[i] = string(raw)
		}
	}
	return out, nil
}

func plainHeader(in map[string][]string, limit int) (header, error) {
	out, size := header{}, 0
	for name, values := range in {
		key := strings.ToLower(name)
		if forbiddenHeader(key) {
			return nil, sdk.Errorf(sdk.Invalid, "a plugin may not set the header %q; the host does, or it is not one", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, sdk.Errorf(sdk.Invalid, "the value of the header %q holds line breaks or control characters", name)
			}
			size += len(key) + len(v) + 32
			out[key] = append(out[key], v)
		}
	}
	if size > limit {
		return nil, sdk.Errorf(sdk.Invalid, "the headers have %d bytes; the limit is %d", size, limit)
	}
	return out, nil
}

// without copies a header, less the names for which drop says so.
func (h header) without(drop func(name string) bool) header {
	out := header{}
	for name, values := range h {
		if !drop(name) {
			out[name] = slices.Clone(values)
		}
	}
	return out
}

// hopHeaders of an answer concern the connection, which is the host's.
var hopHeaders = []string{"connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}

// answerHeader is what a plugin is told of an answer's headers.
func (g *Gateway) answerHeader(in map[string][]string) map[string][]string {
	out := make(map[string][]string, len(in))
	for name, values := range in {
		if slices.Contains(hopHeaders, strings.ToLower(name)) {
			continue
		}
		for _, v := range values {
			if strings.HasSuffix(name, "-bin") {
				raw := []byte(v)
				g.scrub.fill(raw)
				v = base64.StdEncoding.EncodeToString(raw)
			}
			out[name] = append(out[name], g.Scrub(v))
		}
	}
	return out
}
