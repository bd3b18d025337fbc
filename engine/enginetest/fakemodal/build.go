package fakemodal

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

// build writes the log of a build, as Modal's builder does, and decides its result.
func (c *Cloud) build(im *image) {
	defer c.work.Done()
	lines := []string{fmt.Sprintf("Building image %s\n", im.id)}
	failure := ""
	for i, step := range im.steps {
		lines = append(lines, fmt.Sprintf("\n=> Step %d: %s\n", i, step))
		output, failed, really := c.install(im, step)
		if !really {
			output, failed = c.runStep(step, im.base != nil)
		}
		lines = append(lines, output...)
		if failed != "" {
			failure = failed
			break
		}
	}
	if failure == "" {
		lines = append(lines, "Saving image...\n", "Image saved, took 0.10s\n")
		if text := c.faults.get().Build; text != "" {
			lines, failure = append(lines[:len(lines)-2], text+"\n"), text
		}
	}
	for _, line := range lines {
		if !c.sleep(c.opts.Pace) {
			break
		}
		c.addLine(im, line)
	}
	result := pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_SUCCESS}.Build()
	if failure != "" {
		result = pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_FAILURE, Exception: failure}.Build()
	}
	if c.ctx.Err() != nil {
		result = pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_TERMINATED}.Build()
	}
	c.record(Event{Kind: "build", Text: im.id}) // first: who knows the result counts the events
	c.mu.Lock()
	im.result = result
	close(im.changed)
	c.mu.Unlock()
}

func (c *Cloud) addLine(im *image, line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	im.log = append(im.log, line)
	close(im.changed)
	im.changed = make(chan struct{})
}

const missing = "no-such-"

var (
	pipInstall = regexp.MustCompile(`\bpip[0-9.]* install\b`)
	aptInstall = regexp.MustCompile(`\bapt(-get)?\s+(-\S+\s+)*install\b`)
	exitCode   = regexp.MustCompile(`(^|[;&|\s])exit ([1-9][0-9]*)\b`)
	falseAlone = regexp.MustCompile(`(^|[;&|]\s*)false(\s*$|\s*[;&|])`)
)

// runStep is the output of one step of a Dockerfile, and why it fails.
func (c *Cloud) runStep(step string, hasBase bool) (output []string, failure string) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
	switch strings.ToUpper(verb) {
	case "FROM":
		return c.pull(strings.TrimSpace(rest), hasBase)
	case "RUN":
		output, code := runCommand(strings.TrimSpace(rest))
		if code != 0 {
			return output, fmt.Sprintf("The command '%s' returned a non-zero code: %d", strings.TrimSpace(rest), code)
		}
		return output, ""
	case "COPY", "ADD", "ENV", "WORKDIR", "ENTRYPOINT", "CMD", "SHELL", "USER", "LABEL", "ARG", "EXPOSE", "VOLUME":
		return nil, ""
	}
	text := fmt.Sprintf("dockerfile parse error: unknown instruction: %s", verb)
	return []string{text + "\n"}, text
}

func (c *Cloud) pull(from string, hasBase bool) (output []string, failure string) {
	name := imageName(from)
	if name == "base" && hasBase || name == "scratch" {
		return nil, ""
	}
	if _, ok := c.opts.Images(name); !ok {
		text := fmt.Sprintf("failed to pull image %q: manifest unknown: manifest unknown", name)
		return []string{"Getting image source signatures\n", text + "\n"}, text
	}
	return []string{"Getting image source signatures\n", "Copying blob sha256:" + hash(name)[:12] + "\n", "Writing manifest to image destination\n"}, ""
}

// runCommand is what a shell would print. Nothing is run.
func runCommand(command string) (output []string, code int) {
	words := strings.Fields(strings.NewReplacer(`"`, " ", `'`, " ", `,`, " ", `[`, " ", `]`, " ").Replace(command))
	pip, apt := pipInstall.MatchString(command), aptInstall.MatchString(command)
	for _, word := range words {
		lost := strings.HasPrefix(path.Base(word), missing)
		switch {
		case lost && pip:
			name, spec := splitRequirement(word)
			return append(output,
				fmt.Sprintf("ERROR: Could not find a version that satisfies the requirement %s%s (from versions: none)\n", name, spec),
				fmt.Sprintf("ERROR: No matching distribution found for %s%s\n", name, spec)), 1
		case lost && apt:
			return append(output, "Reading package lists...\n", fmt.Sprintf("E: Unable to locate package %s\n", word)), 100
		case lost:
			return append(output, fmt.Sprintf("/bin/sh: 1: %s: not found\n", word)), 127
		case pip && isPackage(word):
			output = append(output, fmt.Sprintf("Collecting %s\n", word))
		}
	}
	if m := exitCode.FindStringSubmatch(command); m != nil {
		_, _ = fmt.Sscanf(m[2], "%d", &code) // digits
		return output, code
	}
	if falseAlone.MatchString(command) {
		return output, 1
	}
	if pip {
		output = append(output, "Successfully installed packages\n")
	}
	return output, 0
}

func splitRequirement(s string) (name, spec string) {
	if i := strings.IndexAny(s, "=<>!~["); i > 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

var packageName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*([=<>!~\[].*)?$`)

func isPackage(word string) bool {
	switch word {
	case "python", "python3", "pip", "pip3", "install", "uv", "m", "RUN":
		return false
	}
	return packageName.MatchString(word)
}
