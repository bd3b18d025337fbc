package tartree

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
)

// countedReader calls count with the size of each piece that is read.
type countedReader struct {
	io.Reader
	count func(int64)
}

func (r countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.count(int64(n))
	}
	return n, err
}

// WriteTo leaves a reader that knows better how much it hands over at once its way.
func (r countedReader) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(countedWriter{w, r.count}, r.Reader)
}

type countedWriter struct {
	io.Writer
	count func(int64)
}

func (w countedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if n > 0 {
		w.count(int64(n))
	}
	return n, err
}

// Counting returns r, which then calls count for each piece unless count is nil.
func Counting(r io.Reader, count func(int64)) io.Reader {
	if count == nil {
		return r
	}
	return countedReader{r, count}
}

// maxWeighed is the number of entries up to which a folder is weighed; more take longer than the
// size is worth.
const maxWeighed = 100_000

// progressEach is the number of files after which Weigh reports progress.
const progressEach = 100

// SizeOf returns how many bytes [client.Files.Upload] of a file or folder will count, or 0 if it
// has too many entries.
func SizeOf(ctx context.Context, local string) int64 {
	return Weigh(ctx, local, func(int) {})
}

// Weigh is [SizeOf]. It calls progress now and then with the number of files that it has seen.
func Weigh(ctx context.Context, local string, progress func(files int)) (bytes int64) {
	entries, files := 0, 0
	err := filepath.WalkDir(resolved(local), func(_ string, d fs.DirEntry, err error) error {
		if entries++; entries > maxWeighed {
			return fs.ErrInvalid
		}
		if err != nil || !d.Type().IsRegular() {
			return ctx.Err() // what cannot be read is not copied either
		}
		if files++; files%progressEach == 0 {
			progress(files)
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
