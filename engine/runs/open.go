package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"syscall"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/record"
)

const (
	mostLog   = 4 << 30   // bytes of a log
	mostCalls = 512 << 20 // bytes of the calls of a record
)

// Run is the folder of a run, opened for reading. It holds no open file.
type Run struct {
	Summary
	artifacts  []event.RunArtifact
	provenance Provenance
}

// Open opens the folder of a run and reads its log once. A folder without a log of events is
// [fs.ErrNotExist].
func Open(dir string) (*Run, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the run: %w", err)
	}
	defer root.Close()
	log, err := openLog(root)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	live := locked(log) // before the log is read: a run that ends meanwhile has an end then
	s := summarizer{Summary: Summary{Dir: dir}, provenance: NewProvenance()}
	if err := s.read(log); err != nil {
		return nil, fmt.Errorf("read the log of the run %s: %w", dir, err)
	}
	if s.ID == "" {
		return nil, fmt.Errorf("%s is no run: no event of a run is in its %s: %w", dir, EventsName, fs.ErrNotExist)
	}
	s.finish(live)
	return &Run{s.Summary, s.artifacts, s.provenance}, nil
}

func openLog(root *os.Root) (*os.File, error) {
	log, info, err := plainfile.Open(root, EventsName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run: it has no %s: %w", root.Name(), EventsName, fs.ErrNotExist)
	}
	if err != nil {
		return nil, errdefs.Wrap(errdefs.KindConfig, fmt.Errorf("read the log of the run %s: %w", root.Name(), err))
	}
	if info.Size() > mostLog {
		log.Close()
		return nil, &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("read the log of the run %s: it is larger than %d bytes; remove the folder", root.Name(), int64(mostLog))}
	}
	return log, nil
}

// locked reports whether the writer of a log lives.
func locked(log *os.File) bool {
	fd := int(log.Fd())
	err := syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = syscall.Flock(fd, syscall.LOCK_UN) // closing it does so, too
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// withLog calls do with the folder and its log.
func (r *Run) withLog(do func(root *os.Root, log io.Reader) error) error {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return fmt.Errorf("open the run: %w", err)
	}
	defer root.Close()
	log, err := openLog(root)
	if err != nil {
		return err
	}
	defer log.Close()
	return do(root, log)
}

// Events reads the log. Texts that are blobs are strings again. An error of type *[Fault] is about
// one line: its event comes with it where only a blob is missing, and else has no data; the next
// line follows. Any other error is the last.
func (r *Run) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		goOn := true
		err := r.withLog(func(root *os.Root, log io.Reader) error {
			return lines(log, func(n int, line []byte) bool {
				e, err := eventOf(root, line)
				if err != nil {
					err = &Fault{n, err}
				}
				goOn = yield(e, err)
				return goOn
			})
		})
		if err != nil && goOn {
			yield(event.Event{}, err)
		}
	}
}

// eventOf reads a line; nil is one that is too long.
func eventOf(root *os.Root, line []byte) (event.Event, error) {
	if line == nil {
		return event.Event{}, errLong
	}
	var e event.Event
	var missing error
	var err error
	if hasBlobs(line) {
		e, missing, err = withBlobs(root, line)
	} else {
		err = json.Unmarshal(line, &e)
	}
	if err == nil && e.Type == "" {
		err = errors.New("it has no type")
	}
	if u, ok := e.Data.(event.Unknown); err == nil && ok && len(u.Raw) == 0 {
		err = errors.New("it has no data")
	}
	if err == nil {
		err = checkTime(e.Time)
	}
	if err != nil {
		return event.Event{}, err
	}
	return e, missing
}

// withBlobs reads a line that has blobs. missing says which of them cannot be read.
func withBlobs(root *os.Root, line []byte) (e event.Event, missing, err error) {
	var raw logLine
	if err := json.Unmarshal(line, &raw); err != nil {
		return e, nil, err
	}
	r := resolver{root: root, left: mostOfEvent}
	e = event.Event{Seq: raw.Seq, Time: raw.Time, Run: raw.Run, Source: raw.Source, Type: raw.Type}
	v, err := r.data(raw.Data)
	if err != nil {
		return e, nil, err
	}
	if raw.Type == "agent.update" { // the large ones: their texts are not encoded again
		u, _ := v.(map[string]any)
		update, isObject := u["update"].(map[string]any)
		native, isText := u["native"].(string)
		if isObject && (isText || u["native"] == nil) {
			e.Data = event.AgentUpdate{Update: update, Native: native}
			return e, errors.Join(r.errs...), nil
		}
	}
	if raw.Data, err = marshal(v); err == nil {
		line, err = marshal(raw)
	}
	if err == nil {
		err = json.Unmarshal(line, &e)
	}
	return e, errors.Join(r.errs...), err
}

// Artifacts are the files that the log names: of each path the last event. The slice is the
// caller's.
func (r *Run) Artifacts() []event.RunArtifact { return append([]event.RunArtifact{}, r.artifacts...) }

// ReadFile reads a plain file in the folder, of at most limit bytes. name has slashes.
func (r *Run) ReadFile(name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return plainfile.Read(root, name, limit)
}

// Record opens the record of calls. A run without one is [fs.ErrNotExist].
func (r *Run) Record() (*record.Folder, error) {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir := filepath.Join(r.Dir, RecordName)
	info, err := root.Lstat(RecordName)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() { // a link may lead anywhere
		return nil, &errdefs.Error{Kind: errdefs.KindConfig, Err: &fs.PathError{Op: "open", Path: dir, Err: errors.New("it is not a folder")}}
	}
	if calls, err := root.Lstat(RecordName + "/calls.jsonl"); err == nil && calls.Size() > mostCalls {
		return nil, &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("read the record %s: it is larger than %d bytes", dir, mostCalls)}
	}
	return record.Open(dir)
}

// Calls reads the record of calls; none where the run recorded none.
func (r *Run) Calls() ([]record.Entry, error) {
	folder, err := r.Record()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return folder.Entries()
}
