package image

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/internal/lazyregexp"
)

// maxVariables is the size of the largest file of variables that is read.
const maxVariables = 256 << 10

// export is a line of the scripts that Apptainer makes of the variables of an image of a registry:
// export PATH="/opt/bin" or export NAME="${NAME:-"value"}".
var export = lazyregexp.New(`^export ([A-Za-z_][A-Za-z0-9_]*)=(.*)$`)

// variables are those of an image that was converted into a tree: /etc/environment, where enroot has
// them, and the scripts of Apptainer. Lines that need a shell to be understood are left out.
func variables(dir string) []string {
	var names []string
	values := map[string]string{}
	set := func(name, value string, ok bool) {
		if !ok {
			return
		}
		if _, known := values[name]; !known {
			names = append(names, name)
		}
		values[name] = value
	}
	for _, line := range linesIn(dir, "/etc/environment") {
		if name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "="); ok && !strings.HasPrefix(name, "#") && !strings.ContainsAny(name, " \t") {
			set(name, strings.Trim(value, `"'`), name != "")
		}
	}
	for _, script := range scriptsIn(dir) {
		for _, line := range linesIn(dir, script) {
			if m := export().FindStringSubmatch(line); m != nil {
				value, ok := plainValue(m[1], m[2])
				set(m[1], value, ok)
			}
		}
	}
	var all []string
	for _, name := range names {
		all = append(all, name+"="+values[name])
	}
	return all
}

// apptainerScripts is the folder of a tree with Apptainer's scripts, which run in the order of their names.
const apptainerScripts = "/.singularity.d/env"

func scriptsIn(dir string) (files []string) {
	at, err := resolveIn(dir, apptainerScripts)
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(at) // without them, the image has no variables
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".sh") {
			files = append(files, filepath.Join(apptainerScripts, e.Name()))
		}
	}
	slices.Sort(files)
	return files
}

func linesIn(dir, file string) (lines []string) {
	at, err := resolveIn(dir, file)
	if err != nil {
		return nil
	}
	info, err := os.Stat(at)
	if err != nil || !info.Mode().IsRegular() { // a pipe would never end
		return nil
	}
	f, err := os.Open(at)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxVariables))
	for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
		lines = append(lines, strings.TrimSpace(scan.Text()))
	}
	return lines
}

// plainValue is the value in a line of a script, if no shell is needed for it.
func plainValue(name, text string) (string, bool) {
	if inner, ok := strings.CutPrefix(text, `"${`+name+`:-`); ok {
		text = strings.TrimSuffix(inner, `}"`)
	}
	if len(text) >= 2 && (text[0] == '"' || text[0] == '\'') && text[len(text)-1] == text[0] {
		text = text[1 : len(text)-1]
	}
	return text, !strings.ContainsAny(text, "$`\"\\;&|<>")
}
