package experiment

import (
	"fmt"
	"regexp"
	"strings"
)

// MissingModule is an error of Python code in the sandbox that a package would mend.
type MissingModule struct {
	Module  string // as it is imported
	Package string // as it is installed
	At      Position
	err     error
}

// Hint says what to add where.
func (m *MissingModule) Hint() string {
	where := ""
	switch {
	case m.At.Set != "":
		where = " (--set " + m.At.Set + ")"
	case m.At.Line > 0:
		where = fmt.Sprintf(" (%s:%d)", m.At.File, m.At.Line)
	}
	return fmt.Sprintf("the sandbox has no module %s; add %s to sandbox.python_packages%s", quote(m.Module), quote(m.Package), where)
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
	return &MissingModule{Module: name, Package: packageOf(name), At: e.Position("sandbox.python_packages"), err: err}
}

var noModule = regexp.MustCompile(`ModuleNotFoundError: No module named '([A-Za-z_][\w.]*)'`)

// ModuleMissing is the name of the module without which the traceback ended; empty where
// it ended with something else.
func ModuleMissing(traceback string) string {
	found := noModule.FindStringSubmatch(traceback)
	if found == nil {
		return ""
	}
	top, _, _ := strings.Cut(found[1], ".")
	return top
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
