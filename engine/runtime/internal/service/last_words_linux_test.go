package service

import (
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/seer-engine/seer/engine/runtime/internal/redact"
)

// What a worker says in the moment of its end counts: why its file was not loaded.
func TestLastWordsOfAWorker(t *testing.T) {
	for range 100 {
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "theirs")
		conn, err := net.FileConn(ours)
		if err != nil {
			t.Fatal(err)
		}
		ours.Close()
		w := &Worker{id: t.Name(), loaded: make(chan controlLine, 1), Exited: make(chan struct{}), redactor: redact.New(nil), dir: t.TempDir()}
		w.cmd = exec.Command("sh", "-c", `echo '{"t":"failed","error":{"code":"load_failed","message":"line 2"}}' >&3`)
		w.cmd.ExtraFiles = []*os.File{theirs}
		if err := w.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		w.listen(conn.(*net.UnixConn))
		go w.wait()
		<-w.Exited
		if _, failure := w.await(t.Context(), time.Minute); failure == nil || failure.Message != "line 2" {
			t.Fatalf("%+v", failure)
		}
	}
}
