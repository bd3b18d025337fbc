package plugincmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	plugins "github.com/seer-engine/seer/engine/plugin/install"
	"github.com/seer-engine/seer/engine/sanitize"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// showPlan writes what the user has to know to stderr, for it is a question.
func (a app) showPlan(p *plugins.Plan) {
	say := func(name, format string, args ...any) {
		fmt.Fprintf(a.UI.Stderr(), "%-12s %s\n", name, sanitize.Line(fmt.Sprintf(format, args...)))
	}
	say("plugin", "%s %s: %s", p.ID, p.Version, p.Description)
	say("provides", "%s (%s)", strings.Join(p.Provides, ", "), strings.Join(p.Contract, ", "))
	if len(p.DefaultFor) > 0 {
		say("default for", "%s", strings.Join(p.DefaultFor, ", "))
	}
	say("from", "%s", p.Origin.Resolved)
	say("signed by", "%s", signerText(p))
	say("tested", "%s", reportText(p.Report))
	for n, line := range p.Lines {
		if n > 0 && p.Lines[n-1].Plain == line.Plain && p.Lines[n-1].Reason == line.Reason {
			continue // one of several lines of one permission
		}
		say("may", "%s%s", line.Plain, reasonText(line.Reason))
	}
	switch exposes := slices.ContainsFunc(p.Contract, func(c string) bool { return strings.HasPrefix(c, "expose/") }); {
	case exposes:
		say("may", "write the code and the words by which your agent uses your functions, like every expose mode")
	case len(p.Lines) == 0:
		say("may", "nothing but compute")
	}
	for _, line := range p.Beyond {
		say("refused", "%s: the policy of this computer does not allow it", line)
	}
	if p.Active != nil && p.Active.Version != p.Version {
		say("now", "%s", p.Active.Version)
		showDifference(say, p.Added, p.Removed)
	}
	say("hash", "%s", p.Hash)
	for _, why := range p.Why {
		say("note", "%s", why)
	}
	for _, warning := range p.Warnings {
		a.UI.Note("warning", warning)
	}
}

func showDifference(say func(name, format string, args ...any), added, removed access.Set) {
	for _, line := range added {
		say("  new", "%s", line)
	}
	for _, line := range removed {
		say("  no longer", "%s", line)
	}
}

// reasonText is a reason that leaves room for what it is about: a stranger wrote it.
func reasonText(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + truncate(reason, maxReason)
}

const maxReason = 240

func truncate(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return text
}

func signerText(p *plugins.Plan) string {
	switch {
	case p.Signer == nil:
		return "nobody"
	case p.Known:
		return p.Signer.Fingerprint + ", as before"
	}
	return p.Signer.Fingerprint + ", for the first time"
}

// reportText tells what the author's report says.
func reportText(r *sdktest.Report) string {
	if r == nil {
		return "no report about this module"
	}
	text := fmt.Sprintf("%d of %d checks passed, kit %d, %s (says the author)",
		r.Count(sdktest.Passed), len(r.Results)-r.Count(sdktest.Skipped), r.Kit, r.Time.Format("2006-01-02"))
	var failed []string
	for _, result := range r.Results {
		if result.Status == sdktest.Failed {
			failed = append(failed, result.Check)
		}
	}
	if len(failed) > 0 {
		text += "; failed: " + truncate(strings.Join(failed, ", "), maxReason)
	}
	return text
}
