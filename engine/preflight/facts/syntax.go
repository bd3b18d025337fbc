package facts

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/plugin/registry"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/internal/lazyregexp"
)

//go:embed syntax.py
var syntaxProgram string

// pythonSource is Python that the experiment brings.
type pythonSource struct {
	N     int     `json:"n"`
	Path  string  `json:"path"` // of the file; of other code, where it stands
	Text  *string `json:"text"` // nil = what is in the file
	Await bool    `json:"await"`

	field string // of the experiment
}

// maxSource is the most bytes of a file that is looked at.
const maxSource = 8 << 20

// pythonSources are those files and texts that are Python and nothing else.
func pythonSources(exp *experiment.Experiment) []pythonSource {
	var all []pythonSource
	add := func(field, path string) {
		info, err := os.Stat(path)
		if err != nil || info.Size() > maxSource { // what is not there is said elsewhere
			return
		}
		if info.IsDir() {
			inside, _ := os.ReadDir(path) // what cannot be read is said elsewhere
			for _, entry := range inside {
				file := filepath.Join(path, entry.Name())
				if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Size() <= maxSource && filepath.Ext(file) == ".py" {
					all = append(all, pythonSource{Path: file, field: field})
				}
			}
		} else if filepath.Ext(path) == ".py" && info.Mode().IsRegular() {
			all = append(all, pythonSource{Path: path, field: field})
		}
	}
	for i, s := range exp.Serve {
		add(fmt.Sprintf("serve.%d.file", i), s.File)
	}
	for i, path := range exp.Workspace.Libraries {
		add(fmt.Sprintf("workspace.libraries.%d", i), path)
	}
	if text := exp.Workspace.Init; text != "" && !magic(exp.Sandbox.ExecutionMode, text) {
		all = append(all, pythonSource{Path: "workspace.init", Text: &text, Await: exp.Sandbox.Whole(), field: "workspace.init"})
	}
	for i := range all {
		all[i].N = i
	}
	return all
}

// magic reports whether code may be for a kernel that knows more than Python: %magic,
// !command, help?, and in a single line a magic's name without %, such as pip install einops.
func magic(mode, code string) bool {
	return mode == experiment.ModeNotebook && (automagic(strings.TrimSpace(code)) || special(code))
}

// automagic reports whether a kernel may take the only line of the code for a magic: it
// begins with a word that is none of Python's and is not assigned to.
func automagic(line string) bool {
	word, rest, _ := strings.Cut(line, " ")
	return !strings.Contains(line, "\n") && firstWord().MatchString(word) && !slices.Contains(keywords, word) && !strings.HasPrefix(strings.TrimSpace(rest), "=")
}

var (
	firstWord = lazyregexp.New(`^[A-Za-z_]\w*$`)
	keywords  = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda " +
		"nonlocal not or pass raise return try while with yield")
)

func special(code string) bool {
	return slices.ContainsFunc(strings.Split(code, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.ContainsAny(line, "!?") || strings.HasPrefix(line, "%") || strings.Contains(line, "= %")
	})
}

// CheckSyntax finds code that is no Python, with the interpreter that will run it where that is
// on this computer. Nothing of it is run.
func (c *Collector) CheckSyntax(ctx context.Context, exp *experiment.Experiment, f preflight.Facts, report *preflight.Report) {
	if image := exp.Sandbox.Image; image != nil && (image.Base != "" || image.Snapshot != "") || !slices.Contains(f.Candidates(exp), registry.Local) {
		return // the Python is another one
	}
	sources := pythonSources(exp)
	if len(sources) == 0 {
		return
	}
	python, err := c.Python.At(report.Python)
	if err != nil || report.Err() != nil && exp.Sandbox.PythonVersion != "" { // it may be the Python that is not there
		return
	}
	for _, bad := range compileAll(ctx, python.Executable, sources) {
		report.Findings = append(report.Findings, preflight.Finding{Severity: preflight.SeverityError, Error: *bad.mistake(exp, sources[bad.N])})
	}
}

// badSource is one that does not compile. Line and column count from 1; 0 = not known.
type badSource struct {
	N       int    `json:"n"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// compileAll says which sources do not compile. Where Python itself cannot say, the start
// will.
func compileAll(ctx context.Context, python string, sources []pythonSource) (bad []badSource) {
	in, err := json.Marshal(sources)
	if err != nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, python, "-I", "-S", "-c", syntaxProgram)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil || json.Unmarshal(out, &bad) != nil {
		return nil
	}
	return slices.DeleteFunc(bad, func(b badSource) bool { return b.N < 0 || b.N >= len(sources) })
}

func (b badSource) mistake(exp *experiment.Experiment, s pythonSource) *experiment.Error {
	m := exp.Errorf(s.field, b.Message, "")
	if s.Text == nil {
		m.File, m.Line, m.Column, m.Set, m.Path = shownPath(exp, s.Path), b.Line, b.Column, "", ""
		return m
	}
	m.Message = fmt.Sprintf("line %d of it: %s", b.Line, b.Message)
	if strings.Contains(*s.Text, "\n") && m.Line > 0 && m.Set == "" { // a block, which begins below its key
		m.Line, m.Column = m.Line+b.Line, 0
		m.Message = b.Message
	}
	return m
}

// shownPath is a file as the user would name it: beside the experiment as he named that.
func shownPath(exp *experiment.Experiment, path string) string {
	shown := exp.Position("").File
	rel, err := filepath.Rel(filepath.Dir(exp.File), path)
	if shown == "" || exp.File == "" || err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return filepath.Join(filepath.Dir(shown), rel)
}
