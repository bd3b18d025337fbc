package guesthttp

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/internal/stream"
)

// upload is the body of a request; nil is none. It is closed exactly once, whatever
// happens, for a [http.RoundTripper] owes that to its caller.
type upload struct {
	body io.ReadCloser
	once sync.Once
}

func newUpload(req *http.Request) *upload {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	return &upload{body: req.Body}
}

func (u *upload) close() {
	if u != nil {
		u.once.Do(func() { u.body.Close() })
	}
}

// start sends the body. A reader that waits is woken by the end of the stream, which
// may come before all is sent.
func (u *upload) start(s *stream.Stream) {
	if u == nil {
		return
	}
	go func() {
		<-s.Done()
		u.close()
	}()
	go func() {
		defer u.close()
		if err := u.send(s); err != nil && !errors.Is(err, stream.ErrOver) {
			s.Fail(err)
		}
	}()
}

func (u *upload) send(s *stream.Stream) error {
	buf := make([]byte, stream.Piece)
	for {
		n, err := u.body.Read(buf)
		if n > 0 {
			if err := s.Send(buf[:n], sdk.SendData); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			s.CloseSend()
			return nil
		case err != nil:
			return err
		}
	}
}
