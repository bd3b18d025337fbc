package run

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/event"
	"github.com/seer-engine/seer/engine/plainfile"
	"github.com/seer-engine/seer/engine/record"
	"github.com/seer-engine/seer/engine/runs"
)

// runLog writes the events of a run into its folder, and hands them on. Events that come before
// the folder is there wait for it.
type runLog struct {
	to engine.Progress // nil = nobody

	warnings sync.WaitGroup // that are on their way

	mu     sync.Mutex
	folder *runs.Folder
	early  []event.Event
}

func (l *runLog) event(e event.Event) {
	l.mu.Lock()
	if l.folder != nil {
		l.folder.Append(e)
	} else if e.Kind() != event.KindCopied {
		l.early = append(l.early, e)
	}
	l.mu.Unlock()
	if l.to != nil {
		l.to(e)
	}
}

func (l *runLog) open(f *runs.Folder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.folder = f
	for _, e := range l.early {
		f.Append(e)
	}
	l.early = nil
}

// makeFolder makes the folder of the run and begins its log.
func (r *runner) makeFolder() error {
	// A full disk is found before the link to the newest run leads to a run without a log.
	if info, err := os.Lstat(r.exp.Runs); err == nil && info.IsDir() {
		if err := try(r.exp.Runs); err != nil {
			return unwritable("the folder of the runs", "runs", r.exp.Runs, err)
		}
	}
	folder, err := runs.Create(r.exp.Runs, r.exp.Name, r.result.Run, r.started)
	if err != nil {
		return unwritable("the folder of the runs", "runs", r.exp.Runs, err)
	}
	// It is called while an event is written, and a warning is an event.
	folder.Warn = func(err error) { r.log.warnings.Go(func() { r.warn("%v", err) }) }
	r.folder, r.result.Folder, r.results.root = folder, folder.Path(), folder.Root()
	r.log.open(folder)
	if err := try(folder.Path()); err != nil {
		return unwritable("the folder of the runs", "runs", r.exp.Runs, err)
	}
	if err := runs.Remember(r.engine.RunDirs().StateDir(), folder); err != nil {
		r.warn("the run is not in the list of your runs: %v", err)
	}
	r.origin.digest, err = programDigest()
	r.report.Send(event.RunStarted{Experiment: r.exp.Name, File: r.exp.File, Folder: folder.Path(), Version: r.opts.Version, SHA256: r.origin.digest})
	if err != nil {
		r.warn("the log of the run has no digest of this program: %v", err)
	}
	return r.keepExperiment()
}

// keepExperiment writes the experiment as it is written and as it is meant.
func (r *runner) keepExperiment() error {
	if r.exp.File != "" {
		text, err := os.ReadFile(r.exp.File)
		if err == nil {
			err = r.results.write(runs.ExperimentName, text)
		}
		if err != nil {
			return err
		}
		r.artifact(runs.ExperimentName, "experiment")
	}
	config, err := r.resolved, error(nil)
	if config == nil {
		config, err = r.exp.Config()
	}
	if err == nil {
		err = r.results.write(runs.ResolvedName, append(config, '\n'))
	}
	r.artifact(runs.ResolvedName, "resolved")
	return err
}

// artifact names a file of the run's folder in its log.
func (r *runner) artifact(name, kind string) {
	if r.folder == nil {
		return
	}
	a, err := described(r.results.root, name)
	if err == nil {
		a.Path, a.Kind = name, kind
		r.report.Send(a)
	} else if !errors.Is(err, fs.ErrNotExist) {
		r.warn("the log of the run has no digest of %s: %v", name, err)
	}
}

// described is the size and digest of a plain file.
func described(root *os.Root, name string) (event.RunArtifact, error) {
	f, _, err := plainfile.Open(root, name)
	if err != nil {
		return event.RunArtifact{}, err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	return event.RunArtifact{SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: n}, err
}

// maxArtifacts is how many results of an agent the log names.
const maxArtifacts = 10_000

// keepOwn names in the log what Seer has written of the agent: its output, and the record of calls.
// Values have their digests in the calls.
func keepOwn(r *runner) {
	r.artifact(agentLog, "log")
	r.artifact(path.Join(record.Name, record.CallsName), "calls")
	services, _ := fs.Glob(r.results.root.FS(), path.Join(record.Name, record.ServicesName, "*.json"))
	for _, name := range services {
		r.artifact(name, "service")
	}
}

// keepResults names the results and the record in the log.
func (r *runner) keepResults() {
	keepOwn(r)
	prefix := runs.OutputsName
	if r.exp.Outputs != "" {
		prefix = filepath.ToSlash(r.results.files.Name())
	}
	n := 0
	err := fs.WalkDir(r.results.files.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if n++; n > maxArtifacts {
			return fs.SkipAll
		}
		a, err := described(r.results.files, p)
		if err != nil {
			return err
		}
		if a.Path, a.Kind = path.Join(prefix, p), "output"; path.Ext(p) == ".ipynb" {
			a.Kind = "notebook"
		}
		r.report.Send(a)
		return nil
	})
	if err != nil {
		r.warn("the log of the run does not name all results: %v", err)
	}
	if n > maxArtifacts {
		r.warn("the log of the run names only the first %d results", maxArtifacts)
	}
}

// closeLog writes the end of the run into its log.
func (r *runner) closeLog(failure error) error {
	if r.folder == nil {
		return nil
	}
	end := event.RunEnded{
		State: "finished", ExitCode: r.result.ExitCode, Seconds: r.result.Seconds, Calls: r.result.Calls, Files: r.result.Files,
		Cost: r.result.Cost, ModelCost: r.result.ModelCost,
	}
	if !r.finished {
		end.ExitCode = -1
	}
	if r.finished && r.result.ExitCode != 0 {
		end.State, end.Error = "failed", fmt.Sprintf("the agent ended with exit code %d", r.result.ExitCode)
	}
	if failure != nil {
		end.State, end.Error = "failed", failure.Error()
		if kind := engine.KindOf(failure); kind == engine.KindCancelled || kind == engine.KindTimeout {
			end.State = "stopped"
		}
	}
	r.log.warnings.Wait()
	r.report.Send(end)
	err := once(r.folder.Close(), remember(r))
	if errors.Is(err, syscall.ENOSPC) {
		return &engine.Error{Kind: engine.KindNoSpace, Err: err}
	}
	return err
}
