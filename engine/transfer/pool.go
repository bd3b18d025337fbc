package transfer

import "context"

const (
	bufferSize = 256 << 10
	buffers    = 128 // 32 MiB in all, for all files of a run
)

// pool hands out a fixed number of buffers, which bounds the memory of a run.
type pool struct {
	free  chan []byte
	fresh chan struct{} // one for each buffer that may still be made
}

func newPool() *pool {
	p := &pool{free: make(chan []byte, buffers), fresh: make(chan struct{}, buffers)}
	for range buffers {
		p.fresh <- struct{}{}
	}
	return p
}

func (p *pool) get(ctx context.Context) ([]byte, error) {
	select {
	case b := <-p.free:
		return b, nil
	default:
	}
	select {
	case b := <-p.free:
		return b, nil
	case <-p.fresh:
		return make([]byte, bufferSize), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pool) put(b []byte) { p.free <- b }
