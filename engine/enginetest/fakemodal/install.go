package fakemodal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// python is the interpreter of the nearest layer that has installed something; empty =
// none has.
func (c *Cloud) python(im *image) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; im != nil; im = im.base {
		if im.python != "" {
			return im.python
		}
	}
	return c.opts.Python
}

// makePython makes a virtual environment that sees what its base has, also one that is a
// virtual environment itself. Argument: its folder.
const makePython = `import os, site, subprocess, sys, venv
venv.EnvBuilder(system_site_packages=True, symlinks=True).create(sys.argv[1])
python = os.path.join(sys.argv[1], "bin", "python3")
where = os.path.join(sys.argv[1], "lib", "python%d.%d" % sys.version_info[:2], "site-packages", "base.pth")
with open(where, "w", encoding="utf-8") as f:
    f.writelines("import site; site.addsitedir(%r)\n" % p for p in site.getsitepackages())
if subprocess.call([python, "-c", "import pip"], stderr=subprocess.DEVNULL):
    subprocess.check_call([python, "-m", "ensurepip"], stdout=subprocess.DEVNULL)
`

// install runs a step that is one of pip's, if the cloud is one that does.
func (c *Cloud) install(im *image, step string) (output []string, failure string, really bool) {
	verb, command, _ := strings.Cut(strings.TrimSpace(step), " ")
	if !c.opts.Install || !strings.EqualFold(verb, "RUN") || !pipInstall.MatchString(command) {
		return nil, "", false
	}
	command = strings.TrimSpace(command)
	folder, err := c.newFolder("images", im.id)
	if err == nil {
		err = c.runIn(&output, c.interpreter(im), "-c", makePython, folder)
	}
	if err == nil {
		err = c.runIn(&output, "env", "PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "sh", "-c", command)
	}
	if err != nil {
		return output, fmt.Sprintf("The command '%s' failed: %v", command, err), true
	}
	c.mu.Lock()
	im.python = filepath.Join(folder, "bin", "python3")
	c.mu.Unlock()
	return output, "", true
}

func (c *Cloud) interpreter(im *image) string {
	for _, name := range []string{c.python(im), os.Getenv("SEER_PYTHON")} {
		if name != "" {
			return name
		}
	}
	return "python3"
}

// runIn runs a program of a build and adds what it says to the log's lines.
func (c *Cloud) runIn(output *[]string, argv ...string) error {
	said, err := exec.CommandContext(c.ctx, argv[0], argv[1:]...).CombinedOutput()
	for line := range strings.Lines(string(said)) {
		*output = append(*output, strings.TrimRight(line, "\n")+"\n")
	}
	return err
}
