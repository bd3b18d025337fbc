package access

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

// Lines are the permissions of a manifest with their reasons, in the manifest's order,
// each once.
func Lines(m sdk.Manifest) []Line {
	c := collector{m: m, known: map[string]bool{}}
	c.requests()
	c.hosts()
	c.clusters()
	c.surface()
	c.values()
	c.captures()
	if m.Limits.MemoryMB > freeMemoryMB {
		c.add(fmt.Sprintf("use up to %d MiB of memory", m.Limits.MemoryMB), "", memory(m.Limits.MemoryMB))
	}
	return c.lines
}

type collector struct {
	m     sdk.Manifest
	known map[string]bool
	lines []Line
}

// add adds the lines of one permission of the manifest.
func (c *collector) add(plain, reason string, texts ...string) {
	reason = strings.Join(strings.Fields(reason), " ")
	for _, text := range texts {
		if !c.known[text] {
			c.known[text] = true
			c.lines = append(c.lines, Line{text, plain, reason})
		}
	}
}

func (c *collector) requests() {
	if c.m.Permissions.Folders {
		c.add("list and read the folders that your experiments name as models", "", Folders)
	}
	for _, p := range c.m.Permissions.HTTP {
		var texts []string
		for _, method := range p.Methods {
			for _, path := range p.Paths {
				texts = append(texts, HTTP(c.m, p, method, path))
			}
		}
		c.add(fmt.Sprintf("send %s requests to %s, %s", and(p.Methods), c.place(p.Destination), many("path", p.Paths)), p.Reason, texts...)
	}
	for _, p := range c.m.Permissions.GRPC {
		var texts []string
		for _, method := range p.Methods {
			texts = append(texts, GRPC(c.m, p, method))
		}
		c.add(fmt.Sprintf("call %s at %s", and(p.Methods), c.place(p.Destination)), p.Reason, texts...)
	}
}

// uses are the values of [sdk.SSHPermission].Use in words.
var uses = map[string]string{
	sdk.SSHExec:    "run commands on %s by SSH, with your keys, unseen",
	sdk.SSHForward: "have Seer carry ports and sockets of %s to this computer",
}

func (c *collector) hosts() {
	for _, p := range c.m.Permissions.SSH {
		var names []string
		for _, pattern := range p.Hosts {
			names = append(names, c.pattern(pattern, "", "any host that you name", "hosts"))
		}
		for _, use := range p.Use {
			c.add(fmt.Sprintf(uses[use], or(names)), p.Reason, apply(func(pattern string) string { return SSH(c.m, pattern, use) }, p.Hosts)...)
		}
	}
}

// clusterUses are the values of [sdk.KubePermission].Use in words: of namespaces, and of contexts.
var clusterUses = map[string]string{
	sdk.KubeRead:    "read all but Secrets in %s of the Kubernetes context %s",
	sdk.KubeWrite:   "make, change and remove pods and all else but Secrets in %s of the Kubernetes context %s, with your credentials, unseen",
	sdk.KubeExecute: "run commands in pods in %s of the Kubernetes context %s",
	sdk.KubeForward: "have Seer carry ports of pods in %s of the Kubernetes context %s to this computer",
	sdk.KubeCluster: "read what belongs to no namespace, such as nodes, of the Kubernetes context %s, and ask it what you may do there",
}

func (c *collector) clusters() {
	for _, p := range c.m.Permissions.Kube {
		contexts := or(apply(func(s string) string { return c.pattern(s, "", "that you name", "contexts") }, p.Contexts))
		namespaces := or(apply(func(s string) string {
			return c.pattern(s, "the namespace ", "any namespace that you name", "namespaces")
		}, p.Namespaces))
		for _, use := range p.Use {
			if use == sdk.KubeCluster {
				c.add(fmt.Sprintf(clusterUses[use], contexts), p.Reason, apply(func(context string) string { return Kube(c.m, context, "", use) }, p.Contexts)...)
				continue
			}
			for _, context := range p.Contexts {
				line := func(namespace string) string { return Kube(c.m, context, namespace, use) }
				c.add(fmt.Sprintf(clusterUses[use], namespaces, contexts), p.Reason, apply(line, p.Namespaces)...)
			}
		}
	}
}

// pattern is a pattern of names in words: every is what * stands for, and plural what a setting
// lists.
func (c *collector) pattern(pattern, noun, every, plural string) string {
	s, ok := settingOf(c.m, pattern)
	switch {
	case pattern == "*":
		return every
	case !ok:
		return noun + pattern
	case s.Default == "":
		return "the " + plural + " that your setting " + c.named(s.Env, s.Profile) + " lists"
	default:
		return noun + s.Default + " (or the " + plural + " that your setting " + c.named(s.Env, s.Profile) + " lists)"
	}
}

func (c *collector) surface() {
	for _, p := range c.m.Permissions.Commands {
		c.add(fmt.Sprintf("have your agent start the program %s", p.Command), p.Reason, Command(p.Command))
	}
	for _, p := range c.m.Permissions.Env {
		c.add(fmt.Sprintf("set %s for your agent", and(p.Names)), p.Reason, apply(Env, p.Names)...)
	}
	for _, p := range c.m.Permissions.Files {
		c.add(fmt.Sprintf("write %s in your agent's folder, where programs look for their settings", and(p.Paths)), p.Reason, apply(File, p.Paths)...)
	}
}

func (c *collector) values() {
	if p := c.m.Profile; p != nil {
		var others []string
		if p.FileEnv != "" {
			others = append(others, "the file that "+p.FileEnv+" names")
		}
		for _, f := range p.Folders {
			others = append(others, f.File+" in the folder that "+f.Env+" names")
		}
		other := ""
		if len(others) > 0 {
			other = ", or " + strings.Join(others, ", or ") + ","
		}
		c.add("have Seer look into "+p.File+other+" for its settings and credentials", "", profile(*p))
	}
	for _, s := range c.m.Settings {
		if asks(s) {
			c.add(fmt.Sprintf("read your setting %s", c.named(s.Env, s.Profile)), s.Doc, setting(s))
		}
	}
	for _, s := range c.m.Secrets {
		for _, b := range s.Bind {
			c.add(fmt.Sprintf("use your credential %s, unseen: Seer adds it to requests to %s as %s", c.named(s.Env, s.Profile), c.place(b.Destination), b.Header),
				"", Secret(c.m, s, b))
		}
	}
}

func (c *collector) captures() {
	for _, s := range c.m.Captures {
		for _, b := range s.Bind {
			to := "the address that comes with it"
			if s.URLField == "" {
				to = c.place(b.Destination)
			}
			c.add(fmt.Sprintf("use the credential %s, which the answer to %s brings, unseen: Seer sends it to %s as %s", s.Name, s.Method, to, b.Header),
				"", capture(c.m, s, b))
		}
		call := func(method string) string { return CapturedCall(s, method) }
		if len(s.GRPC) > 0 {
			c.add(fmt.Sprintf("call %s at the address that comes with %s", and(s.GRPC), s.Name), "", apply(call, s.GRPC)...)
		}
	}
}

// place is a destination, in words where the user may set it.
func (c *collector) place(destination string) string {
	s, ok := settingOf(c.m, destination)
	switch {
	case !ok && destination == sdk.DestinationModel:
		return "the host that the name of a model names"
	case !ok:
		return destination
	case !asks(s):
		return s.Default
	case s.Default == "":
		return "where your setting " + c.named(s.Env, s.Profile) + " says"
	default:
		return s.Default + " (or where your setting " + c.named(s.Env, s.Profile) + " says)"
	}
}

// named is all that a value may come from: people who are told of one variable must not
// say yes to another.
func (c *collector) named(env []string, key string) string {
	from := slices.Clone(env)
	if p := c.m.Profile; key != "" && p != nil {
		from = append(from, key+" in "+p.File)
	}
	return strings.Join(from, " or ")
}

func apply(f func(string) string, in []string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = f(s)
	}
	return out
}

func and(words []string) string { return joined(words, " and ") }
func or(words []string) string  { return joined(words, " or ") }

func joined(words []string, last string) string {
	words = slices.Compact(slices.Clone(words))
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + last + words[n]
	}
	return strings.Join(words, "")
}

func many(what string, words []string) string {
	if len(words) > 1 {
		what += "s"
	}
	return what + " " + strings.Join(words, ", ")
}
