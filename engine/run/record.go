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

	"github.com/seer-engine/seer/engine/inventory"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
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

// record writes run.json once there was a sandbox.
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
	return r.results.write(recordName, data)
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

// remember has [ExperimentOf] believe the log of this run, which is closed.
func remember(r *runner) error {
	path := filepath.Join(r.result.Folder, runs.EventsName)
	digest, err := fileDigest(path)
	if err != nil {
		return fmt.Errorf("compute the digest of the log: %w", err)
	}
	return r.engine.Replays().RememberRecord(digest, path)
}

func fileDigest(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would never end
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(err, &fs.PathError{Op: "read", Path: path, Err: plainfile.ErrOther})
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}
