package httpretry

import "io"

// upload tells of every piece that was taken.
type upload struct {
	io.ReadCloser
	done int64
	each func(done int64)
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.done += int64(n)
	u.each(u.done)
	return n, err
}

// ending releases a request's context with its answer.
type ending struct {
	io.ReadCloser
	end func()
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}
