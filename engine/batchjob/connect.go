package batchjob

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/pipe"
	"github.com/seer-engine/seer/sdk"
)

// connect carries connections between the standard streams and the addresses of the job's
// machine, and nothing else.
func connect(ctx context.Context, dir string, stdin io.ReadCloser, stdout io.WriteCloser) error {
	return pipe.Serve(ctx, pipe.Stdio(stdin, stdout), func(ctx context.Context, target string) (net.Conn, error) {
		data, err := os.ReadFile(filepath.Join(dir, StateName))
		if err != nil {
			return nil, err
		}
		var o sdk.Observation
		if err := json.Unmarshal(data, &o); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(o.Endpoints, func(e sdk.Endpoint) bool { return targetOf(e.URL) == target }) {
			return nil, sdk.Errorf(sdk.NotFound, "it is no address of the job's machine")
		}
		var d net.Dialer
		if path, ok := strings.CutPrefix(target, "unix:"); ok {
			return d.DialContext(ctx, "unix", path)
		}
		return d.DialContext(ctx, "tcp", "127.0.0.1:"+strings.TrimPrefix(target, "tcp:"))
	})
}

// targetOf is an address as it is asked for.
func targetOf(url string) string {
	if port, ok := strings.CutPrefix(url, "http://127.0.0.1:"); ok {
		return "tcp:" + port
	}
	return url
}
