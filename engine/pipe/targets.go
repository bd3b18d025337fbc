package pipe

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
)

// TargetsMain is `seer-runtime pipe TARGET...`: it serves connections to these targets of this
// computer over in and out until these end, and connects to nothing else. It returns the exit
// status.
func TargetsMain(targets []string, in io.ReadCloser, out io.WriteCloser, log io.Writer) int {
	for _, target := range targets {
		if err := CheckTarget(target); err != nil {
			_, _ = fmt.Fprintln(log, "pipe:", err)
			return 2
		}
	}
	err := Serve(context.Background(), Stdio(in, out), func(ctx context.Context, target string) (net.Conn, error) {
		if !slices.Contains(targets, target) {
			return nil, fmt.Errorf("it is not one of %s", strings.Join(targets, ", "))
		}
		var d net.Dialer
		if path, ok := strings.CutPrefix(target, "unix:"); ok {
			return d.DialContext(ctx, "unix", path)
		}
		return d.DialContext(ctx, "tcp", "127.0.0.1:"+strings.TrimPrefix(target, "tcp:"))
	})
	if err != nil {
		_, _ = fmt.Fprintln(log, "pipe:", err)
		return 1
	}
	return 0
}
