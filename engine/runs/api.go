package runs

import (
	"errors"
	"iter"
	"os"
	"time"

	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/record"
)

var errLater = errors.New("not written yet")

// Folder is the folder of a run that is going on. Append and Close are not for concurrent use.
type Folder struct {
	// Warn is told once when the disk does not take an event; nil = nobody is told.
	Warn func(err error)
}

// Create makes the folder root/<name>-<YYYYMMDD-HHMMSS>-<end of id> and root itself, sets the link
// root/latest, and locks the log. name is that of the experiment; what no file should be called is
// replaced. A root that is a link, and a latest that is not, are refused.
func Create(root, name, id string, now time.Time) (*Folder, error) { return nil, errLater }

// Path is the absolute path of the folder.
func (f *Folder) Path() string { return "" }

// ID is that of the run.
func (f *Folder) ID() string { return "" }

// Root is the folder, opened. Close closes it.
func (f *Folder) Root() *os.Root { return nil }

// Append writes an event to the log. It is an [event.Func].
func (f *Folder) Append(e event.Event) {}

// Close brings the log to the disk and unlocks it. It returns the first error of any Append.
func (f *Folder) Close() error { return errLater }

// Open opens the folder of a run. A folder without a log of events is fs.ErrNotExist.
func Open(dir string) (*Run, error) { return nil, errLater }

// Events reads the log. Texts that are blobs are strings again. An error of type *[Fault] is about
// one line or blob, and the next one follows; any other error is the last.
func (r *Run) Events() iter.Seq2[event.Event, error] { return nil }

// Calls reads the record of calls; none where the run recorded none.
func (r *Run) Calls() ([]record.Entry, error) { return nil, errLater }

// Record opens the record of calls. A run without one is fs.ErrNotExist.
func (r *Run) Record() (*record.Folder, error) { return nil, errLater }

// Artifacts are the files that the log names: of each path the last event.
func (r *Run) Artifacts() []event.RunArtifact { return nil }

// Transcript is what the agent said and did, in order.
func (r *Run) Transcript() ([]Item, error) { return nil, errLater }

// ReadFile reads a plain file in the folder, of at most limit bytes. name has slashes.
func (r *Run) ReadFile(name string, limit int64) ([]byte, error) { return nil, errLater }

// Fault says what cannot be read of a log.
type Fault struct {
	Line int // 1, 2, 3 …
	Err  error
}

func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap returns the reason.
func (f *Fault) Unwrap() error { return f.Err }

// List lists the runs in folders, newest first. Each root is a folder with runs in it, or that of
// one run; one that does not exist has none.
func List(roots ...string) ([]Summary, error) { return nil, errLater }

// Find finds a run by its ID, an unambiguous beginning of the ID (with or without run-), the path
// or the name of its folder, or "latest".
func Find(ref string, roots ...string) (*Run, error) { return nil, errLater }

// Remove removes the folder of a run. One that is running is refused.
func Remove(r *Run) error { return errLater }

// Remember notes where a run is, so that it is found from every folder.
func Remember(stateDir string, f *Folder) error { return errLater }

// Remembered are the folders of remembered runs. Notes of folders that are gone are dropped.
func Remembered(stateDir string) ([]string, error) { return nil, errLater }

// Change is a difference between two runs.
type Change struct {
	Part string `json:"part"` // experiment, prompt, models, code, agent, results or calls
	Name string `json:"name"` // of what differs, such as a field of the experiment
	A    string `json:"a"`    // empty = it is not there
	B    string `json:"b"`
}

// Difference is what Diff finds.
type Difference struct {
	A       Summary  `json:"a"`
	B       Summary  `json:"b"`
	Same    []string `json:"same"` // parts without a change
	Changes []Change `json:"changes"`
}

// Diff compares two runs.
func Diff(a, b *Run) (Difference, error) { return Difference{}, errLater }
