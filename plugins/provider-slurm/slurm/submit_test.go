package slurm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seer-engine/seer/internal/testkit"
)

// fakeSlurm stands before the scripts. Its jobs are lines of $HOME/jobs.
const fakeSlurm = `
sbatch() (
  [ -z "$TAKES" ] || echo "$TAKES" >>"$HOME/jobs"
  [ -z "$SAYS" ] || { echo "sbatch: error: Batch job submission failed: $SAYS" >&2; exit 1; }
  echo "$TAKES"
)
squeue() (
  [ -z "$SILENT" ] || { echo "slurm_load_jobs error: Unable to contact slurm controller (connect failure)" >&2; exit 1; }
  cat "$HOME/jobs" 2>/dev/null || :
)
`

// A job is submitted once, also where sbatch fails although Slurm has taken it.
func TestSubmitOnce(t *testing.T) {
	t.Parallel()
	const late = "SAYS=Socket timed out on send/recv operation"
	for name, starts := range map[string][]struct {
		env, out string
		code     int
	}{
		"answered":              {{"TAKES=7", "job|7\n", 0}, {"TAKES=8", "job|7\n", 0}},
		"taken, not answered":   {{late + "\nTAKES=7", "job|7\n", 0}, {"TAKES=8", "job|7\n", 0}},
		"squeue fails as well":  {{late + "\nTAKES=7\nSILENT=1", "", 1}, {"TAKES=8\nSILENT=1", "", 1}, {"TAKES=8", "job|7\n", 0}},
		"unclear, squeue fails": {{"SAYS=Unspecified error\nTAKES=7\nSILENT=1", "", 1}, {"TAKES=8", "job|7\n", 0}},
		"not taken":             {{"SAYS=Unable to contact slurm controller (connect failure)", "", 1}, {"TAKES=7", "job|7\n", 0}},
		"refused":               {{"SAYS=Invalid account or account/partition combination specified", "", codeRefused}, {"TAKES=7", "job|7\n", 0}},
	} {
		home := t.TempDir()
		kept := filepath.Join(home, ".local/state/seer-slurm/seer-k1")
		for i, start := range starts {
			cmd := exec.Command("/bin/sh", "-c", fakeSlurm+prelude+submitScript, "seer", "seer-k1", "own-1", "0", "program", "script")
			cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, strings.Split(start.env, "\n")...)
			cmd.Stdin = strings.NewReader("{}")
			out, err := cmd.Output()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); string(out) != start.out || code != start.code {
				t.Errorf("%s: start %d says %q and ends with %d; want %q and %d", name, i+1, out, code, start.out, start.code)
			}
			if _, err := os.Stat(kept); (err != nil) != (start.code == codeRefused) {
				t.Errorf("%s: after start %d: %v", name, i+1, err) // without the folder, nothing lists a job
			}
		}
		if jobs := testkit.ReadFile(t, filepath.Join(home, "jobs")); jobs != "7\n" {
			t.Errorf("%s: jobs %q", name, jobs)
		}
	}
}
