package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/trust"
)

// recordName is the file in the outputs that says what the run was.
const recordName = "run.json"

// maxRecord bounds a run.json file that somebody else may have written.
const maxRecord = 8 << 20

// runRecord links results to what made them.
type runRecord struct {
	Run        string    `json:"run"` // ID, which its events have
	Experiment string    `json:"experiment"`
	File       string    `json:"file,omitempty"`
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`
	Sandbox    string    `json:"sandbox,omitempty"`
	ExitCode   *int      `json:"exit_code,omitempty"` // of an agent that ended by itself
	Error      string    `json:"error,omitempty"`
	Calls      string    `json:"calls,omitempty"` // digest of the record of calls; empty = no record
	// HiddenNames are the places where names of hidden models were seen.
	HiddenNames []HiddenName `json:"hidden_names,omitempty"`
	Version     string       `json:"seer_version,omitempty"`
	SHA256      string       `json:"seer_sha256,omitempty"`
	runs.Provenance

	GPUUse *inventory.GPUUse `json:"gpu_use,omitempty"` // of the sandbox; only on this computer
}

// record writes run.json once there was a sandbox, and remembers that it did.
func (r *runner) record(failure error) error {
	if r.result.Sandbox == "" {
		return nil
	}
	rec := runRecord{
		Run: r.result.Run, Experiment: r.exp.Name, File: r.exp.File, Started: r.started.UTC(), Seconds: r.result.Seconds,
		Sandbox: r.result.Sandbox, HiddenNames: r.result.HiddenNames, Version: r.opts.Version, SHA256: r.origin.digest, Provenance: r.origin.Provenance, GPUUse: r.gpuUse,
	}
	if r.finished {
		rec.ExitCode = &r.result.ExitCode
	}
	switch {
	case errors.Is(failure, context.Canceled):
		rec.Error = "the run was stopped before the agent had finished"
	case failure != nil:
		rec.Error = failure.Error()
	}
	if r.recording != nil {
		var err error
		if rec.Calls, err = callsDigest(r.results.path(record.Name)); err != nil {
			return fmt.Errorf("compute the digest of the record: %w", err)
		}
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if err := r.results.write(recordName, data); err != nil {
		return err
	}
	return r.engine.Replays().RememberRecord(hash(data), r.results.path(recordName))
}

// callsDigest covers the calls and the services of a record, in whatever folder it is. The
// values have their hashes in the calls.
func callsDigest(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(globQuoted(dir), "services", "*.json"))
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, path := range append([]string{filepath.Join(dir, "calls.jsonl")}, files...) {
		f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return "", err
		}
		info, err := f.Stat()
		if err == nil && !info.Mode().IsRegular() {
			err = &fs.PathError{Op: "read", Path: path, Err: plainfile.ErrOther}
		}
		if err == nil {
			fmt.Fprintf(sum, "%q %d\n", filepath.Base(path), info.Size())
			_, err = io.Copy(sum, f)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// globQuoted matches only the folder itself.
func globQuoted(dir string) string {
	var out []rune
	for _, r := range dir {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// ErrNoFile says that a run.json file names no experiment.
var ErrNoFile = errors.New("it does not name the experiment of the run")

// ExperimentOf is the experiment file that the run with this folder was made from, as
// its run.json says. Only what a run of this user on this computer has written is
// believed: a stranger's could name any file, as the program to run. Otherwise the error
// is of [engine.KindUntrusted].
func ExperimentOf(e *engine.Engine, folder string) (string, error) {
	return experimentOf(e, folder, false)
}

func experimentOf(e *engine.Engine, folder string, unguarded bool) (string, error) {
	path := filepath.Join(folder, recordName)
	data, err := readRecord(path)
	var ran runRecord
	if err == nil {
		err = json.Unmarshal(data, &ran)
	}
	if err != nil || ran.File == "" {
		return "", fmt.Errorf("%s: %w", path, ErrNoFile)
	}
	if unguarded {
		return ran.File, nil
	}
	own, err := e.Replays().OwnRecord(hash(data))
	if err != nil {
		return "", err
	}
	if !own {
		return "", strange(ran.File, "no run of yours on this computer has written "+path)
	}
	calls, err := callsDigest(filepath.Join(folder, record.Name))
	if err != nil || calls != ran.Calls {
		return "", strange(ran.File, "the record of calls beside "+path+" was changed since the run")
	}
	return ran.File, nil
}

func strange(file, why string) error {
	effects := trust.Of(trust.Facts{Subject: file, Unconfined: []trust.Program{{Name: "the experiment that the record names", Command: file}}})
	return &engine.Error{Kind: engine.KindUntrusted, Err: &trust.Error{
		Effects: effects,
		Reason:  fmt.Sprintf("the experiment %.200q is not taken from the record: %s", file, why),
		Advice:  "read the experiment, then name its file yourself",
	}}
}

// readRecord reads a small regular file, not a link or a pipe.
func readRecord(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a small regular file")}
	}
	return os.ReadFile(path)
}
