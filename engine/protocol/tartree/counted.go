package tartree

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
)

// countedReader tells told of what is read.
type countedReader struct {
	io.Reader
	told func(int64)
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.told(int64(n))
	}
	return n, err
}

// WriteTo leaves a reader that knows better how much it hands over at once its way.
func (r countedReader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(countedWriter{w, r.told}, r.Reader)
}

type countedWriter struct {
	io.Writer
	told func(int64)
}

func (w countedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if n > 0 {
		w.told(int64(n))
	}
	return n, err
}

// Counting is r, counted where told is not nil.
func Counting(r io.Reader, told func(int64)) io.Reader {
	if told == nil {
		return r
	}
	return countedReader{r, told}
}

// maxWeighed is of how many entries a folder is weighed; more take longer than it is worth.
const maxWeighed = 100_000

// toldEach is of how many files each it is told that they were weighed.
const toldEach = 100

// SizeOf is how many bytes [client.Files.Upload] of a file or folder will count, as far as that
// can be told soon; else 0.
func SizeOf(ctx context.Context, local string) int64 {
	return Weigh(ctx, local, func(int) {})
}

// Weigh is [SizeOf]. It tells told now and then how many files it has seen.
func Weigh(ctx context.Context, local string, told func(files int)) (bytes int64) {
	entries, files := 0, 0
	err := filepath.WalkDir(resolved(local), func(_ string, d fs.DirEntry, err error) error {
		if entries++; entries > maxWeighed {
			return fs.ErrInvalid
		}
		if err != nil || !d.Type().IsRegular() {
			return ctx.Err() // what cannot be read is not copied either
		}
		if files++; files%toldEach == 0 {
			told(files)
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return ctx.Err()
	})
	if err != nil {
		return 0
	}
	return bytes
}

// resolved is where a symlink leads; Upload follows the one that it is given.
func resolved(local string) string {
	if path, err := filepath.EvalSymlinks(local); err == nil {
		return path
	}
	return local
}
