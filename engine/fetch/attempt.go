package fetch

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/retry"
	"github.com/seer-engine/seer/sdk"
)

const (
	maxAttempts = 5 // without a byte of progress
	firstPause  = 200 * time.Millisecond
	longestWait = 30 * time.Second
)

// attempts downloads into the part until it is complete and verified. It gives up
// after some tries in a row that brought nothing, or two that brought something
// else than was promised.
func (j *job) attempts(ctx context.Context, f sdk.ModelFile) error {
	pause, fruitless, mismatches := firstPause, 0, 0
	for {
		before := sizeOf(j.part(f))
		err := j.attempt(ctx, f)
		if err == nil {
			return nil
		}
		if fruitless++; sizeOf(j.part(f)) > before {
			pause, fruitless = firstPause, 1
		}
		if errors.Is(err, errMismatch) {
			mismatches++
		}
		if !passing(err) || mismatches > 1 || fruitless >= maxAttempts || ctx.Err() != nil {
			return err
		}
		if err := retry.Sleep(ctx, max(pause, min(after(err), longestWait))); err != nil {
			return err
		}
		pause *= 2
	}
}

func sizeOf(path string) int64 {
	if info, err := os.Lstat(path); err == nil {
		return info.Size()
	}
	return 0
}

// attempt continues the part with one request.
func (j *job) attempt(ctx context.Context, f sdk.ModelFile) error {
	part, err := os.OpenFile(j.part(f), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer part.Close()
	sums := newSums(f)
	have, err := io.Copy(sums, io.LimitReader(part, f.Size+1))
	if err != nil {
		return err
	}
	j.progress.add(have)
	if have < f.Size || (have == 0 && f.Size == 0) {
		n, err := j.request(ctx, f, part, sums, have)
		have = n
		if err != nil {
			j.progress.add(-have)
			return err
		}
	}
	err = sums.verify(f, have)
	if err == nil {
		err = part.Sync()
	}
	if err != nil {
		j.progress.add(-have)
		return errors.Join(err, os.Remove(part.Name()))
	}
	return nil
}

// request appends to the part and returns how many bytes it then has.
func (j *job) request(ctx context.Context, f sdk.ModelFile, part *os.File, sums *sums, have int64) (int64, error) {
	at, err := j.locate(ctx, f)
	if err != nil {
		return have, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(j.stall, func() { cancel(errStalled) })
	defer stall.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return have, j.refuse("%s is said to be at an unusable address", f.Path)
	}
	for k, v := range at.headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("Accept-Encoding", "identity") // offsets and digests are of the file itself
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	resp, err := j.client.Do(req)
	if err != nil {
		return have, transient(ctx, at, err)
	}
	defer resp.Body.Close()
	if have, err = j.begin(resp, at, part, sums, have); err != nil {
		return have, err
	}
	body := &meter{r: resp.Body, seen: func(n int) { stall.Reset(j.stall); j.progress.add(int64(n)) }}
	// One byte too many is enough to know that it is another file.
	n, err := io.Copy(io.MultiWriter(part, sums), io.LimitReader(body, f.Size-have+1))
	if err != nil {
		return have + n, transient(ctx, at, err)
	}
	if have+n < f.Size {
		return have + n, sdk.Errorf(sdk.Unavailable, "%s ended the answer after %d of %d bytes", at.Host, have+n, f.Size)
	}
	return have + n, nil
}

// begin looks at the answer's head and positions the part.
func (j *job) begin(resp *http.Response, at place, part *os.File, sums *sums, have int64) (int64, error) {
	switch {
	case resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", have)):
		return have, nil
	case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusPartialContent, resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		// The server starts over, or cannot continue: so do we.
		j.progress.add(-have)
		sums.Reset()
		if err := part.Truncate(0); err != nil {
			return 0, err
		}
		if _, err := part.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		if resp.StatusCode != http.StatusOK {
			return 0, sdk.Errorf(sdk.Unavailable, "%s could not continue the download", at.Host)
		}
		return 0, nil
	default:
		return have, statusError(resp, at)
	}
}

func statusError(resp *http.Response, at place) error {
	code := sdk.Internal
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized, s == http.StatusForbidden:
		code = sdk.Unauthorized
	case s == http.StatusNotFound, s == http.StatusGone:
		code = sdk.NotFound
	case s == http.StatusTooManyRequests:
		code = sdk.RateLimited
	case s == http.StatusRequestTimeout, s >= 500:
		code = sdk.Unavailable
	}
	e := sdk.Errorf(code, "%s answered %s", at.Host, resp.Status)
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		e.Seconds = float64(n)
	}
	return e
}

var errStalled = errors.New("no data for too long")

// transient describes a broken connection without the address's query, which may
// be a credential.
func transient(ctx context.Context, at place, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	var wrote *os.PathError
	if errors.As(err, &wrote) || errors.Is(err, context.Canceled) {
		return err
	}
	return sdk.Errorf(sdk.Unavailable, "%s: %v", at.Host, withoutURL(err))
}

func passing(err error) bool {
	switch sdk.CodeOf(err) {
	case sdk.Unavailable, sdk.RateLimited:
		return true
	}
	return errors.Is(err, errMismatch)
}

func after(err error) time.Duration {
	var e *sdk.Error
	if errors.As(err, &e) {
		return e.After()
	}
	return 0
}

// sums hashes what goes by.
type sums struct{ sha256, git hash.Hash }

func newSums(f sdk.ModelFile) *sums {
	s := &sums{sha256: sha256.New()}
	if f.GitSHA1 != "" {
		s.git = &gitBlob{Hash: sha1.New(), size: f.Size}
		s.git.Reset()
	}
	return s
}

func (s *sums) Write(b []byte) (int, error) {
	if s.git != nil {
		s.git.Write(b)
	}
	return s.sha256.Write(b)
}

func (s *sums) Reset() {
	s.sha256.Reset()
	if s.git != nil {
		s.git.Reset()
	}
}

// errMismatch is worth one more download: a proxy may have mixed something up.
var errMismatch = errors.New("not the file that was promised")

func (s *sums) verify(f sdk.ModelFile, size int64) error {
	switch {
	case size != f.Size:
		return fmt.Errorf("%w: it has more than %d bytes", errMismatch, f.Size)
	case f.SHA256 != "" && !strings.EqualFold(f.SHA256, hex.EncodeToString(s.sha256.Sum(nil))):
		return fmt.Errorf("%w: its SHA-256 is %x, not %s", errMismatch, s.sha256.Sum(nil), f.SHA256)
	case f.GitSHA1 != "" && !strings.EqualFold(f.GitSHA1, hex.EncodeToString(s.git.Sum(nil))):
		return fmt.Errorf("%w: its git hash is %x, not %s", errMismatch, s.git.Sum(nil), f.GitSHA1)
	}
	return nil
}

// gitBlob hashes as git does: with the size in front.
type gitBlob struct {
	hash.Hash
	size int64
}

func (g *gitBlob) Reset() {
	g.Hash.Reset()
	fmt.Fprintf(g.Hash, "blob %d\x00", g.size)
}
