package kubetest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// The channels of v5.channel.k8s.io.
const (
	stdin, stdout, stderr, status, closed = 0, 1, 2, 3, 255
)

const protocol = "v5.channel.k8s.io"

// exec runs a command as a process of this computer.
func (s *Server) exec(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{protocol}})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	s.execs.Add(1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	argv := r.URL.Query()["command"]
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "/var/lib/seer", s.Pod())
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	var turn sync.Mutex
	cmd.Stdout, cmd.Stderr = channel{ctx, conn, &turn, stdout}, channel{ctx, conn, &turn, stderr}
	in, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	if err := cmd.Start(); err != nil {
		_, _ = channel{ctx, conn, &turn, status}.Write(failed("InternalError", "error executing command in container: exec failed: "+err.Error(), nil))
		_ = conn.Close(websocket.StatusNormalClosure, "")
		return
	}
	go feed(ctx, conn, in, cancel)
	_, _ = channel{ctx, conn, &turn, status}.Write(outcome(cmd.Wait()))
	_ = conn.Close(websocket.StatusNormalClosure, "")
}

// feed carries the standard input of a command. It ends the command when the connection is lost.
func feed(ctx context.Context, conn *websocket.Conn, in io.WriteCloser, lost func()) {
	defer lost()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		switch {
		case len(data) == 2 && data[0] == closed && data[1] == stdin:
			_ = in.Close()
		case len(data) > 1 && data[0] == stdin:
			_, _ = in.Write(data[1:]) // whoever has closed its input wants none
		}
	}
}

func outcome(err error) []byte {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return []byte(`{"metadata":{},"status":"Success"}`)
	case errors.As(err, &exit):
		causes := []map[string]string{{"reason": "ExitCode", "message": strconv.Itoa(exit.ExitCode())}}
		return failed("NonZeroExitCode", "command terminated with non-zero exit code", causes)
	}
	return failed("InternalError", err.Error(), nil)
}

func failed(reason, message string, causes any) []byte {
	data, _ := json.Marshal(map[string]any{"status": "Failure", "reason": reason, "message": message, "code": 500, "details": map[string]any{"causes": causes}})
	return data
}

// channel writes messages of a channel.
type channel struct {
	ctx    context.Context
	conn   *websocket.Conn
	turn   *sync.Mutex
	number byte
}

func (c channel) Write(p []byte) (int, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	return len(p), c.conn.Write(c.ctx, websocket.MessageBinary, append([]byte{c.number}, p...))
}
