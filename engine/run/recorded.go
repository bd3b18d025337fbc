package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
	"github.com/seer-engine/seer/engine/trust"
)

// Recorded opens the record of calls of the run with this folder. Of a folder without a log of
// events, as earlier versions wrote, it is the folder record. Without a record, the error is
// [fs.ErrNotExist].
func Recorded(folder string) (*record.Folder, error) {
	kept, err := runs.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return record.Open(filepath.Join(folder, record.Name))
	}
	if err != nil {
		return nil, err
	}
	found, err := kept.Record()
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the run %s has recorded no calls: %w", folder, fs.ErrNotExist)
	}
	return found, err
}

// ErrNoFile says that neither the log of a run nor its run.json names an experiment.
var ErrNoFile = errors.New("it does not name the experiment of the run")

// ExperimentOf is the experiment file that the run with this folder was made from, as its log
// says. Only what a run of this user on this computer has written is believed: a stranger's could
// name any file, as the program to run. Otherwise the error is of [engine.KindUntrusted]. Earlier
// versions did not remember their logs, and there run.json says it.
func ExperimentOf(e *engine.Engine, folder string) (string, error) {
	return experimentOf(e, folder, false)
}

func experimentOf(e *engine.Engine, folder string, unguarded bool) (string, error) {
	path := filepath.Join(folder, runs.EventsName)
	kept, err := runs.Open(folder)
	if err != nil || kept.File == "" {
		return olderExperimentOf(e, folder, unguarded)
	}
	if unguarded {
		return kept.File, nil
	}
	own := false
	if digest, failed := fileDigest(path); failed == nil {
		if own, err = e.Replays().OwnRecord(digest); err != nil {
			return "", err
		}
	}
	if !own {
		if file, err := olderExperimentOf(e, folder, false); err == nil {
			return file, nil
		}
		return "", strange(kept.File, "no run of yours on this computer has written "+path+" to its end")
	}
	if err := unchanged(kept); err != nil {
		return "", strange(kept.File, fmt.Sprintf("the record of calls beside %s was changed since the run: %v", path, err))
	}
	return kept.File, nil
}

// unchanged compares the record of a run with what its log says of it.
func unchanged(kept *runs.Run) error {
	root, err := os.OpenRoot(kept.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	said := map[string]string{}
	for _, a := range kept.Artifacts() {
		if a.Kind == "calls" || a.Kind == "service" {
			said[a.Path] = a.SHA256
		}
	}
	there, err := fs.Glob(root.FS(), path.Join(record.Name, record.ServicesName, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range append(there, path.Join(record.Name, record.CallsName)) {
		a, err := described(root, name)
		if err == nil && a.SHA256 != said[name] {
			err = fmt.Errorf("%s is not the file of the run", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// olderExperimentOf is [ExperimentOf] by run.json.
func olderExperimentOf(e *engine.Engine, folder string, unguarded bool) (string, error) {
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
