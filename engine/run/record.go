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
	"github.com/seer-engine/seer/engine/trust"
	"github.com/seer-engine/seer/sdk"
)

// recordName is the file in the outputs that says what the run was.
const recordName = "run.json"

// maxRecord bounds a run.json file that somebody else may have written.
const maxRecord = 1 << 20

// runRecord links results to what made them.
type runRecord struct {
	Run        string          `json:"run"` // ID, which its events have
	Experiment string          `json:"experiment"`
	File       string          `json:"file,omitempty"`
	Started    time.Time       `json:"started"`
	Seconds    float64         `json:"seconds"`
	Sandbox    string          `json:"sandbox,omitempty"`
	ExitCode   *int            `json:"exit_code,omitempty"` // of an agent that ended by itself
	Error      string          `json:"error,omitempty"`
	Services   []serviceRecord `json:"services"`
	Calls      string          `json:"calls,omitempty"` // digest of the record of calls; empty = no record
	// HiddenNames are the places where names of hidden models were seen.
	HiddenNames []HiddenName `json:"hidden_names,omitempty"`
	// Models and datasets of the sandbox. Their files are in run.models.json.
	Models []modelRecord `json:"models"`

	GPUUse *inventory.GPUUse `json:"gpu_use,omitempty"` // of the sandbox; only on this computer
}

// modelRecord says what a model or dataset was. Of a hidden model it tells no name, and nothing
// that leads to one but the revision.
type modelRecord struct {
	Name     string `json:"name,omitempty"` // as the experiment has it
	Dataset  bool   `json:"dataset,omitempty"`
	Hidden   bool   `json:"hidden,omitempty"`
	Source   string `json:"source"`
	Repo     string `json:"repo,omitempty"` // its name at the Hub, as the Hub had it
	Revision string `json:"revision"`
	License  string `json:"license,omitempty"`
	Gate     string `json:"gate,omitempty"`
	Manifest string `json:"manifest,omitempty"` // key of the list of its files in run.models.json
}

// manifestsName is the file in the outputs that lists the files of models and datasets, by
// digests: one can have thousands.
const manifestsName = "run.models.json"

// manifestRecord lists the files of a revision. Its key is the SHA-256 of its JSON without spaces.
type manifestRecord struct {
	Version  int             `json:"format_version"` // 1
	Revision string          `json:"revision"`
	Files    []sdk.ModelFile `json:"files"`
}

// modelsOf are the models and datasets of a sandbox, and the files of each.
func modelsOf(info engine.Info) ([]modelRecord, map[string]manifestRecord) {
	models, manifests := []modelRecord{}, map[string]manifestRecord{}
	add := func(m modelRecord, p engine.Provenance) {
		if m.Manifest = p.Manifest; p.Manifest != "" && len(p.Files) > 0 {
			manifests[p.Manifest] = manifestRecord{1, m.Revision, p.Files}
		}
		m.Gate = p.Gate
		if m.Hidden {
			m.Name = ""
		} else {
			m.Repo, m.License = p.Repo, p.License
		}
		models = append(models, m)
	}
	for _, m := range info.Models {
		add(modelRecord{Name: m.Name, Hidden: m.Hidden, Source: m.Source, Revision: m.Revision}, m.Provenance)
	}
	for _, d := range info.Datasets {
		add(modelRecord{Name: d.Name, Dataset: true, Source: d.Source, Revision: d.Revision}, d.Provenance)
	}
	return models, manifests
}

// writeModels writes the lists of files, if there are models or datasets.
func (r *runner) writeModels() error {
	if len(r.manifests) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(r.manifests, "", " ")
	if err != nil {
		return err
	}
	return r.results.write(manifestsName, append(text, '\n'))
}

type serviceRecord struct {
	Name     string `json:"name"`
	CodeHash string `json:"code_hash"`
}

// record writes run.json once there was a sandbox, and remembers that it did.
func (r *runner) record(failure error) error {
	if r.result.Sandbox == "" {
		return nil
	}
	rec := runRecord{
		Run: r.result.Run, Experiment: r.exp.Name, File: r.exp.File, Started: r.started.UTC(), Seconds: r.result.Seconds,
		Sandbox: r.result.Sandbox, Services: []serviceRecord{}, HiddenNames: r.result.HiddenNames, Models: r.models, GPUUse: r.gpuUse,
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
	for _, s := range r.services {
		rec.Services = append(rec.Services, serviceRecord{Name: s.Name(), CodeHash: s.Interface().CodeHash})
	}
	if r.recording != nil {
		var err error
		if rec.Calls, err = callsDigest(r.results.path(record.Name)); err != nil {
			return fmt.Errorf("compute the digest of the record: %w", err)
		}
	}
	if err := r.writeModels(); err != nil {
		return err
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
