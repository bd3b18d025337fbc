package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// recordName is the file in the outputs that says what the run was.
const recordName = "run.json"

// runRecord links results to what made them.
type runRecord struct {
	Experiment string          `json:"experiment"`
	File       string          `json:"file,omitempty"`
	Started    time.Time       `json:"started"`
	Seconds    float64         `json:"seconds"`
	Sandbox    string          `json:"sandbox,omitempty"`
	ExitCode   int             `json:"exit_code"`
	Error      string          `json:"error,omitempty"`
	Services   []serviceRecord `json:"services"`
}

type serviceRecord struct {
	Name     string `json:"name"`
	CodeHash string `json:"code_hash"`
}

// record writes run.json once there was a sandbox.
func (r *runner) record(failure error) error {
	if r.result.Sandbox == "" {
		return nil
	}
	rec := runRecord{
		Experiment: r.exp.Name, File: r.exp.File, Started: r.started.UTC(), Seconds: r.result.Seconds,
		Sandbox: r.result.Sandbox, ExitCode: r.result.ExitCode, Services: []serviceRecord{},
	}
	if failure != nil {
		rec.Error = failure.Error()
	}
	for _, s := range r.services {
		rec.Services = append(rec.Services, serviceRecord{Name: s.Name(), CodeHash: s.Interface().CodeHash})
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.exp.Outputs, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.exp.Outputs, recordName), append(data, '\n'), 0o644)
}
