package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/preflight"
	texts "github.com/seer-engine/seer/internal/text"
	"github.com/seer-engine/seer/sdk"
)

// Lines is the plan for a person to read.
func (p Plan) Lines() []string {
	var t text
	t.line("experiment", p.Experiment)
	p.machineLines(&t)
	p.contentLines(&t)
	p.agentLines(&t)
	t.list("not checked", p.NotChecked)
	for _, w := range p.Warnings {
		t.line("warning", w)
	}
	return t
}

// machineLines say where it runs, for how long and at what cost.
func (p Plan) machineLines(t *text) {
	t.line("machine", p.machine())
	for _, c := range p.others() {
		t.line("or else", c.text(p.Timeout))
	}
	t.list("max wait", p.waitText())
	p.gpuLines(t)
	t.list("size", p.size())
	t.list("image", p.imageText())
	for _, v := range p.Volumes {
		t.line("volume", v.text())
	}
	t.line("network", p.networkText())
	t.list("host ports", numbers(p.HostPorts))
	if p.Nested {
		t.line("nested", "programs in the sandbox may make sandboxes of their own")
	}
	t.line("ends", p.ends())
	t.line("cost", p.costText())
	for _, a := range p.Accounts {
		t.line("account", a.Text())
	}
}

// gpuLines say which GPU of this computer it would be, and who has the others.
func (p Plan) gpuLines(t *text) {
	if s := p.GPUShare; s != nil {
		t.line("gpu share", fmt.Sprintf("%s of the memory of each GPU; torch keeps to it, and a sandbox that uses more ends", *s))
	}
	for _, g := range p.GPUs {
		words := g.String()
		if g.Taken {
			words += "; it would be this one now"
		}
		t.line("gpu", words)
	}
}

// String says how much of the GPU is free, and who uses it.
func (g GPUUse) String() string {
	size := func(gib float64) string { return texts.Bytes(int64(gib * (1 << 30))) }
	words := fmt.Sprintf("%s, %s of %s free", g.Label, size(g.FreeMemory), size(g.TotalMemory))
	if g.UsedBy != "" {
		words += ", used by: " + g.UsedBy
	}
	return words
}

// contentLines say what is in the sandbox.
func (p Plan) contentLines(t *text) {
	for _, m := range p.Models {
		note := ""
		if m.Hidden {
			note = ", name hidden from the agent"
		}
		t.line("model", fmt.Sprintf("%s at %s ($%s), read-only%s", m.Name, m.Path, m.Env, note))
		if m.Facts != nil {
			for _, words := range m.Facts.text() {
				t.line("", words)
			}
		}
	}
	if len(p.GPUsThatFit) > 0 {
		t.line("gpu", "enough for the models, by price: "+GPUNames(p.GPUsThatFit))
	}
	for _, d := range p.Datasets {
		t.line("dataset", fmt.Sprintf("%s at %s ($%s), read-only", d.Name, d.Path, d.Env))
		if d.Facts != nil {
			t.line("", d.Facts.text())
			t.list("", d.Facts.Download.text())
		}
	}
	t.list("disk", p.diskText())
	for _, u := range p.Uploads {
		if u.Mount {
			t.line("mount", u.Local+" at "+u.Remote+", read-only")
		} else {
			t.line("upload", u.Local+" to "+u.Remote)
		}
	}
	t.list("packages", p.packagesText())
	for _, r := range p.Repos {
		t.line("repository", repoText(r))
	}
	if l := p.Layer; l != nil && l.Cached {
		t.line("layer", "built already: "+l.Folder)
	} else if l != nil {
		t.line("layer", "will be built, once: "+l.Folder)
	}
	if p.Python != "" {
		t.line("python", p.Python)
	}
	if p.Image != nil {
		t.list("system", p.Image.SystemPackages)
		for _, c := range p.Image.Commands {
			t.line("command", c)
		}
	}
	t.list("env", p.Env)
	t.list("secrets", p.Secrets)
	t.list("ports", numbers(p.Ports))
}

// agentLines say what is served to the agent, where it works and what has to be confirmed.
func (p Plan) agentLines(t *text) {
	for _, s := range p.Services {
		t.line("serve", fmt.Sprintf("%s as %s %s", s.File, s.ExposeAs, s.Name))
	}
	t.line("workspace", p.Workspace.Dir)
	t.list("libraries", p.Workspace.Libraries)
	t.list("files", p.Workspace.Files)
	if a := p.Agent; a != nil {
		t.line("agent", fmt.Sprintf("%s, isolation %s, network %s", strings.Join(append([]string{a.Provider + ":"}, a.Command...), " "), a.Isolation, a.Network))
		if a.Nested {
			t.line("nested", "programs of the agent may make sandboxes of their own")
		}
	}
	if p.Outputs != "" {
		t.line("outputs", p.Outputs)
	}
	t.line("runs", p.Runs)
	if p.Effects != nil {
		for _, line := range p.Effects.Outside {
			t.line("confirm", line)
		}
	}
}

// networkText says where the network is this computer's own.
func (p Plan) networkText() string {
	switch {
	case p.Network == "host":
		return "host: that of this computer, with all that listens on 127.0.0.1"
	case p.Network == "open" && p.Isolation == "none":
		return "open: the network of this computer, because the sandbox has no isolation"
	}
	return p.Network
}

// packagesText says which packages are there already, where that makes a difference.
func (p Plan) packagesText() []string {
	if len(p.Present) == 0 || len(p.Present) == len(p.Packages) {
		return p.Packages
	}
	var out []string
	for _, name := range p.Packages {
		if slices.Contains(p.Present, name) {
			name += " (there already)"
		}
		out = append(out, name)
	}
	return out
}

func repoText(r preflight.Repo) string {
	text := fmt.Sprintf("%s at /workspace/%s", r.URL, r.Name)
	if r.Commit != "" {
		text += ", commit " + r.Commit[:min(12, len(r.Commit))]
	}
	if r.Ref != "" && r.Ref != r.Commit {
		text += " of " + r.Ref
	}
	if r.Token != "" {
		text += ", opened with " + r.Token
	}
	if r.Install != "" {
		text += ", then `" + r.Install + "`"
	}
	return text
}

// others are the choices after the first.
func (p Plan) others() []Choice { return p.Choices[min(1, len(p.Choices)):] }

func (p Plan) machine() string {
	if len(p.Choices) == 0 {
		return p.Provider
	}
	return p.Choices[0].text(p.Timeout)
}

// text is a choice in words; its time where it is not the usual one.
func (c Choice) text(usual float64) string {
	parts := []string{c.Provider}
	if c.GPU != "" {
		parts = append(parts, fmt.Sprintf("%d × %s", c.GPUCount, c.GPU))
	} else if c.Offer != "" && c.Offer != c.Provider {
		parts = append(parts, c.Offer)
	}
	if c.Region != "" && !c.HostMounts {
		parts = append(parts, "in "+c.Region)
	}
	if c.Isolation != "" {
		parts = append(parts, "isolation "+c.Isolation)
	}
	if c.CostPerHour != nil && *c.CostPerHour > 0 {
		parts = append(parts, preflight.USD(*c.CostPerHour)+" an hour")
	}
	if c.Timeout != usual {
		parts = append(parts, "for "+duration(c.Timeout))
	}
	if c.Stock == sdk.StockLow {
		parts = append(parts, "few are free")
	}
	if c.WaitSeconds > 0 {
		parts = append(parts, "wait "+texts.Wait(c.WaitSeconds, c.Queue))
	} else if c.Queue != "" {
		parts = append(parts, c.Queue)
	}
	return strings.Join(parts, ", ")
}

// waitText says which provider is asked first, and what happens while that has nothing free.
func (p Plan) waitText() []string {
	if p.MaxWait == 0 || len(p.Choices) == 0 {
		return nil
	}
	var order, passed []string
	for i, c := range p.Choices {
		switch {
		case c.WaitSeconds > p.MaxWait && p.leads(i):
			if !slices.Contains(passed, c.Provider) {
				passed = append(passed, c.Provider)
			}
		case len(order) == 0 || order[len(order)-1] != c.Provider:
			order = append(order, c.Provider)
		}
	}
	limit := duration(p.MaxWait)
	words := fmt.Sprintf("%s first; if nothing is free there within %s, ", order[0], limit)
	if len(order) > 1 {
		words += fmt.Sprintf("then %s, each for at most %s; after that ", strings.Join(order[1:], ", then "), limit)
	}
	words += "the start fails"
	if len(passed) > 0 {
		words = fmt.Sprintf("not %s, whose queue is longer than %s now; %s", strings.Join(passed, " or "), limit, words)
	}
	return []string{words}
}

// leads reports whether a choice of another provider follows.
func (p Plan) leads(i int) bool {
	return slices.ContainsFunc(p.Choices[i:], func(c Choice) bool { return c.Provider != p.Choices[i].Provider })
}

func (p Plan) size() []string {
	var parts []string
	if p.CPU > 0 {
		parts = append(parts, fmt.Sprintf("%g cores", p.CPU))
	}
	if p.MemoryGB > 0 {
		parts = append(parts, fmt.Sprintf("%g GiB of memory", p.MemoryGB))
	}
	if p.DiskGB > 0 {
		parts = append(parts, fmt.Sprintf("%d GB of disk", p.DiskGB))
	}
	if len(p.Regions) > 0 {
		parts = append(parts, "in "+strings.Join(p.Regions, " or "))
	}
	return parts
}

func (p Plan) imageText() []string {
	var parts []string
	if p.Image == nil {
		return nil
	}
	if p.Image.Base != "" {
		parts = append(parts, p.Image.Base)
	}
	if p.Image.Snapshot != "" {
		parts = append(parts, "the snapshot "+p.Image.Snapshot)
	}
	if p.Image.PythonVersion != "" {
		parts = append(parts, "Python "+p.Image.PythonVersion)
	}
	return parts
}

// diskText is what models and datasets take.
func (p Plan) diskText() (parts []string) {
	if p.ModelBytes > 0 {
		parts = append(parts, texts.Bytes(p.ModelBytes)+" for models")
	}
	if p.DatasetBytes > 0 {
		parts = append(parts, texts.Bytes(p.DatasetBytes)+" for datasets")
	}
	return parts
}

// text is what is known of files.
func (f Facts) text() string {
	words := texts.Plural(len(f.Files), "file") + ", " + texts.Bytes(f.Bytes)
	if f.Revision != "" {
		words = "commit " + f.Revision[:min(12, len(f.Revision))] + ", " + words
	}
	if f.OmittedBytes > 0 {
		words += " (without " + texts.Bytes(f.OmittedBytes) + " in other formats)"
	}
	if f.License != "" {
		words += ", license " + f.License
	}
	if f.Gate != "" {
		words += ", gated (" + f.Gate + ")"
	}
	return words
}

// text is what is known of a model, in lines.
func (f ModelFacts) text() []string {
	words := []string{f.Facts.text()}
	if f.WeightBytes > 0 || f.Unknown != "" { // it was looked into
		words = append(words, f.needs())
	}
	return append(words, f.Download.text()...)
}

// text says how long a download takes, and what that rests on; nothing if there is none.
func (d *Download) text() []string {
	if d == nil {
		return nil
	}
	rests := "last seen from " + d.Host + " on " + d.Measured.Format(time.DateOnly)
	switch {
	case d.Rented:
		rests = "assumed: the network of a rented machine is not known before"
	case d.Assumed:
		rests = "assumed: no download from " + d.Host + " was measured"
	}
	return []string{fmt.Sprintf("download: %s, about %s at %s/s (%s)", texts.Bytes(d.Bytes), texts.Duration(d.Seconds), texts.Bytes(int64(d.BytesPerSecond)), rests)}
}

// needs is what the model takes of a GPU.
func (f ModelFacts) needs() string {
	var parts []string
	for _, part := range []string{f.Architecture, f.DType, f.Quantization} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if f.Adapter {
		parts = append(parts, "adapter of "+cmp.Or(f.Base, "a model that it does not name"))
	}
	if f.Unknown != "" {
		parts = append(parts, "memory on the GPU not known: "+f.Unknown)
	} else {
		parts = append(parts, texts.Bytes(f.WeightBytes)+" on the GPU")
	}
	switch {
	case f.CacheBytes > 0:
		limit := ""
		if f.CacheLimited {
			limit = " (its limit)"
		}
		parts = append(parts, fmt.Sprintf("and %s for a context of %d tokens%s and a batch of %d", texts.Bytes(f.CacheBytes), f.CacheTokens, limit, f.CacheBatch))
	case f.CacheTokens > 0:
		parts = append(parts, fmt.Sprintf("and a cache of unknown size: Seer does not know the architecture %s, or its configuration lacks a size", cmp.Or(f.Architecture, "without a name")))
	}
	return strings.Join(parts, ", ")
}

func (v Volume) text() string {
	text := v.Name + " at " + v.Path
	if v.SizeGB > 0 {
		text += fmt.Sprintf(", %d GB when it is made", v.SizeGB)
	}
	if v.ReadOnly {
		text += ", read-only"
	}
	if v.Models {
		text += ", for models"
	}
	return text
}

func (p Plan) ends() string {
	words := "after " + duration(p.Timeout)
	if price := p.CostPerHour; price != nil && p.Budget > 0 && *price*(p.Timeout+1)/3600 > p.Budget {
		words += ", when the budget is spent"
	}
	if p.IdleTimeout > 0 {
		words += ", or " + duration(p.IdleTimeout) + " without use"
	}
	return words
}

func duration(seconds float64) string {
	return preflight.Duration(time.Duration(seconds * float64(time.Second)))
}

func (p Plan) costText() string {
	limit := ""
	if p.Budget > 0 {
		limit = " (budget " + preflight.USD(p.Budget) + ")"
	}
	switch {
	case p.CostPerHour == nil:
		return "not known before the provider is asked"
	case *p.CostPerHour == 0 && p.MaxCost != nil && *p.MaxCost == 0:
		return "none"
	case p.MaxCost == nil:
		return preflight.USD(*p.CostPerHour) + " an hour; that of the others is not known"
	default:
		return fmt.Sprintf("%s an hour, at most %s%s", preflight.USD(*p.CostPerHour), preflight.USD(*p.MaxCost), limit)
	}
}

// text collects lines of a label and a value.
type text []string

func (t *text) line(label, value string) {
	*t = append(*t, fmt.Sprintf("%-11s %s", label, value))
}

func (t *text) list(label string, items []string) {
	if len(items) > 0 {
		t.line(label, strings.Join(items, ", "))
	}
}

func numbers(items []int) []string {
	words := make([]string, len(items))
	for i, n := range items {
		words[i] = strconv.Itoa(n)
	}
	return words
}
