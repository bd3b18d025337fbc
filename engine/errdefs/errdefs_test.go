package errdefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/protocol"
)

// between is an answer of what stands before a machine, told as one of the machine.
type between struct{}

func (*between) Error() string { return "403 Forbidden" }

func (*between) As(target any) bool {
	e, ok := target.(**protocol.Error)
	if ok {
		*e = protocol.Errorf(protocol.Unsupported, "403 Forbidden")
	}
	return ok
}

// What cannot be read or written is the user's to mend, wherever it is found, and no
// fault of a machine or of Seer.
func TestKindsOfFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below := os.Mkdir(filepath.Join(file, "below"), 0o700)
	for _, tc := range []struct {
		err  error
		want Kind
	}{
		{below, KindConfig},
		{fmt.Errorf("save it: %w", &fs.PathError{Op: "open", Path: "/x", Err: syscall.EROFS}), KindConfig},
		{&os.LinkError{Op: "rename", Old: "/a", New: "/b", Err: syscall.EACCES}, KindConfig},
		{&fs.PathError{Op: "write", Path: "/x", Err: syscall.ENOSPC}, KindNoSpace},
		{protocol.Errorf(protocol.Invalid, "/usr/x: read-only file system"), KindConfig},
		{protocol.Errorf(protocol.Unsupported, "the machine is Windows on x86_64"), KindUnsupported},
		{&between{}, KindProvider},
		{os.NewSyscallError("connect", syscall.EACCES), KindProvider},
		{errors.New("lost"), KindProvider},
	} {
		if got := KindOf(Wrap(KindProvider, tc.err)); got != tc.want {
			t.Errorf("%v is %s, not %s", tc.err, got, tc.want)
		}
	}
	if gone := Wrap(KindProvider, protocol.Errorf(protocol.NotFound, "/workspace/x: no such file")); !errors.Is(gone, fs.ErrNotExist) {
		t.Errorf("%v is no fs.ErrNotExist", gone)
	}
	if lost := Wrap(KindProvider, errors.New("lost")); errors.Is(lost, fs.ErrNotExist) {
		t.Error("a lost machine is a file that is not there")
	}
}
