package plainfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ReadNamed reads a file of at most limit bytes that its user names. It follows links, but
// neither waits for the writer of a pipe, nor reads a device that has no end.
func ReadNamed(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > limit:
		return nil, tooLarge(limit)
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	_, err = data.ReadFrom(io.LimitReader(f, limit+1))
	if err == nil && int64(data.Len()) > limit { // it has grown meanwhile
		err = tooLarge(limit)
	}
	return data.Bytes(), err
}

func tooLarge(limit int64) error { return fmt.Errorf("it is larger than %d KiB", limit>>10) }
