package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// MissingModule is an error of Python code in the sandbox that a package or a library would
// mend.
type MissingModule struct {
	Module  string // as it is imported
	Package string // as it is installed
	Library string // what lies beside the experiment and has the module; empty = nothing
	Listed  bool   // workspace.libraries has it already, and the sandbox has not
	At      Position
	Python  string // the interpreter beside the sandbox that lacks it; empty = the sandbox's
	err     error
}

// Hint says what to add where.
func (m *MissingModule) Hint() string {
	if m.Python != "" && m.Library == "" {
		return fmt.Sprintf("the Python beside the sandbox, %s, has no module %s; install %s for it, or set SEER_PYTHON to a Python that has it", m.Python, quote(m.Module), quote(m.Package))
	}
	where := ""
	switch {
	case m.At.Set != "":
		where = " (override " + m.At.Set + ")"
	case m.At.Line > 0:
		where = fmt.Sprintf(" (%s:%d)", m.At.File, m.At.Line)
	}
	if m.Listed && m.Python == "" {
		return fmt.Sprintf("the sandbox has no module %s, though it is in %s%s: the files of a snapshot take the place of the experiment's libraries, and somebody in the sandbox may have removed it; "+
			"start without the snapshot, or from one that has it", quote(m.Module), librariesField, where)
	}
	what, field := m.Package, "sandbox.python_packages"
	if m.Library != "" {
		what, field = m.Library, librariesField
	}
	return fmt.Sprintf("the sandbox has no module %s; add %s to %s%s", quote(m.Module), quote(what), field, where)
}

// Error is the hint, then what failed.
func (m *MissingModule) Error() string { return m.Hint() + ": " + m.err.Error() }

// Unwrap is what failed.
func (m *MissingModule) Unwrap() error { return m.err }

// Explain says of an error of Python code for a module that is not there where the
// experiment can ask for it. Any other error is returned as it is.
func (e *Experiment) Explain(err error) error {
	if err == nil {
		return nil
	}
	name := ModuleMissing(err.Error())
	if name == "" {
		return err
	}
	return e.missing(name, err)
}

// ExplainBeside is [Experiment.Explain] of code that an interpreter of this computer has run
// beside the sandbox, which python_packages are not for; said is what the code has printed.
func (e *Experiment) ExplainBeside(err error, said, python string) error {
	name := ModuleMissing(said)
	if err == nil || name == "" {
		return err
	}
	m := e.missing(name, err)
	m.Python = python
	return m
}

func (e *Experiment) missing(name string, err error) *MissingModule {
	m := &MissingModule{Module: name, Package: packageOf(name), Library: e.libraryOf(name), At: e.Position("sandbox.python_packages"), err: err}
	if m.Library != "" {
		m.At = e.Position(librariesField)
	}
	for i, path := range e.Workspace.Libraries {
		stem := strings.TrimSuffix(filepath.Base(path), ".py")
		if strings.ReplaceAll(stem, "-", "_") == name { // a skill's name may have -
			m.Listed, m.At = true, e.Position(fmt.Sprintf("%s.%d", librariesField, i))
		}
	}
	return m
}

const librariesField = "workspace.libraries"

// libraryOf is what of a module lies beside the experiment; empty where there is nothing.
func (e *Experiment) libraryOf(module string) string {
	if e.File == "" {
		return ""
	}
	at := filepath.Join(filepath.Dir(e.File), module)
	if info, err := os.Stat(at + ".py"); err == nil && info.Mode().IsRegular() {
		return module + ".py"
	}
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		return module + "/"
	}
	return ""
}

var (
	noModule = lazyregexp.New(`(?:^|[\s:])ModuleNotFoundError: No module named '([A-Za-z_]\w*)'(?: \([^()]*, line \d+\))?$`)
	// raised is a line that says what was raised, also behind what was done.
	raised = lazyregexp.New(`^(?:\S.*: )?[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Iteration|Group|Warning)(?::|$)`)
	// heading begins a traceback of IPython: what was raised, then these words.
	heading = lazyregexp.New(`^([A-Za-z_][\w.]*)\s+Traceback \(most recent call last\)`)
)

// ModuleMissing is the name of the module without which the traceback ended; empty where
// it ended with something else, and where only a part of a module is missing (a.b), which
// another package would not mend.
func ModuleMissing(traceback string) string {
	line := lastRaised(strings.Split(strings.TrimRight(traceback, "\n"), "\n"))
	if found := noModule().FindStringSubmatch(line); found != nil {
		return found[1]
	}
	return ""
}

// lastRaised is the line with the last exception of a traceback: others before it were
// dealt with.
func lastRaised(lines []string) string {
	last, frames := "", false // in the frames of a traceback
	for _, line := range lines {
		line = strings.TrimRight(line, "\r")
		switch {
		case heading().MatchString(line):
			last = heading().FindStringSubmatch(line)[1]
		case strings.HasSuffix(line, "Traceback (most recent call last):"):
			frames = true
		case frames && (line == "" || line[0] == ' '):
		case frames || raised().MatchString(line):
			last, frames = line, false
		}
	}
	return last
}

// packageOf is the package that has a module, where that is not its name.
func packageOf(module string) string {
	for _, pair := range [][2]string{
		{"PIL", "pillow"}, {"bs4", "beautifulsoup4"}, {"cv2", "opencv-python-headless"}, {"dateutil", "python-dateutil"}, {"dotenv", "python-dotenv"},
		{"fitz", "pymupdf"}, {"skimage", "scikit-image"}, {"sklearn", "scikit-learn"}, {"transformer_lens", "transformer-lens"}, {"yaml", "pyyaml"},
	} {
		if pair[0] == module {
			return pair[1]
		}
	}
	return module
}
