package service

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// controlLine is a message between runtime and worker.
type controlLine struct {
	Kind       string              `json:"t"`
	Pid        int                 `json:"pid,omitempty"`
	State      string              `json:"state,omitempty"`
	Filename   string              `json:"filename,omitempty"`
	Path       string              `json:"path,omitempty"`
	Models     []protocol.Model    `json:"models,omitempty"`
	Datasets   []protocol.Model    `json:"datasets,omitempty"`
	Workdir    string              `json:"workdir,omitempty"`
	Secrets    []string            `json:"secrets,omitempty"` // names; the values are variables
	Service    string              `json:"service,omitempty"`
	Generation int                 `json:"generation,omitempty"`
	Journal    string              `json:"journal,omitempty"`
	Limits     protocol.Limits     `json:"limits,omitzero"`
	Record     bool                `json:"record,omitempty"`
	Seconds    float64             `json:"seconds,omitempty"` // for which it records, too
	Tokens     []protocol.Token    `json:"tokens,omitempty"`
	Price      float64             `json:"price,omitempty"`
	Died       string              `json:"died,omitempty"`  // how the worker before it ended
	Hello      string              `json:"hello,omitempty"` // what the worker says first on a new connection
	Token      string              `json:"token,omitempty"`
	Client     string              `json:"client,omitempty"`
	All        bool                `json:"all,omitempty"`     // the connection may follow the calls of all tokens
	Runtime    bool                `json:"runtime,omitempty"` // the connection carries calls of many
	Segment    int                 `json:"segment,omitempty"`
	Interface  *sdk.Interface      `json:"interface,omitempty"`
	Kept       bool                `json:"kept,omitempty"`
	Reason     string              `json:"reason,omitempty"`
	Error      *protocol.CallError `json:"error,omitempty"`
}

// helloFiles are the descriptors that come with a hello: the page, and the reading
// ends of stdout and stderr.
const helloFiles = 3

// controlReader reads the lines of a worker, and the descriptors that travel with
// them.
type controlReader struct {
	conn  *net.UnixConn
	text  []byte
	files []*os.File
}

// next waits for a line. The files of a hello are the caller's.
func (r *controlReader) next(clean func([]byte) []byte) (controlLine, []*os.File, error) {
	for {
		line, rest, whole := bytes.Cut(r.text, []byte{'\n'})
		if !whole {
			if err := r.read(); err != nil {
				r.close()
				return controlLine{}, nil, err
			}
			continue
		}
		r.text = rest
		var msg controlLine
		if json.Unmarshal(clean(line), &msg) != nil {
			continue
		}
		if msg.Kind != "hello" || len(r.files) < helloFiles {
			return msg, nil, nil
		}
		files := r.files[:helloFiles]
		r.files = r.files[helloFiles:]
		return msg, files, nil
	}
}

func (r *controlReader) read() error {
	buf, oob := make([]byte, 64<<10), make([]byte, syscall.CmsgSpace(16*4))
	n, oobn, _, _, err := r.conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return err
	}
	r.text = append(r.text, buf[:n]...)
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return err
	}
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			continue // something else than descriptors
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			r.files = append(r.files, os.NewFile(uintptr(fd), "of a worker"))
		}
	}
	return nil
}

func (r *controlReader) close() {
	for _, f := range r.files {
		f.Close()
	}
	r.files = nil
}

// send writes a control line, and a descriptor that belongs to it.
func (w *Worker) send(line controlLine, f *os.File) error {
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	var rights []byte
	if f != nil {
		rights = syscall.UnixRights(int(f.Fd()))
	}
	w.control.Lock()
	defer w.control.Unlock()
	if w.conn == nil {
		return net.ErrClosed
	}
	_ = w.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	n, _, err := w.conn.WriteMsgUnix(data, rights, nil)
	if err == nil && n < len(data) {
		_, err = w.conn.Write(data[n:])
	}
	return err
}
