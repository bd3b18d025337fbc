package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/engine/remedy"
)

// Decide is a [host.Options].Access: what the user has granted a plugin, within the
// policy. Plugins that come with Seer are somebody else's to decide.
func (s *Store) Decide(ctx context.Context, p host.Plugin) (host.Grant, error) {
	if err := ctx.Err(); err != nil {
		return host.Grant{}, err
	}
	if err := s.untouched(p); err != nil {
		return host.Grant{}, err
	}
	policy, err := s.Policy()
	if err != nil {
		return host.Grant{}, err
	}
	l, err := s.decisions()
	if err != nil {
		return host.Grant{}, err
	}
	lines, by, err := l.decide(p)
	if err != nil {
		return host.Grant{}, err
	}
	allowed, _ := policy.Limit(lines, false)
	return host.Grant{Lines: allowed, By: by, Destinations: policy.Destinations}, nil
}

func (l *ledger) decide(p host.Plugin) (access.Set, string, error) {
	if g, ok := l.grantOf(p.Manifest.ID, p.Digest); ok {
		return g.Lines, by(g.By, g.Time.Local().Format("2 Jan 2006")), nil
	}
	var refusals []error
	for _, f := range l.Folders {
		if f.ID != p.Manifest.ID {
			continue
		}
		inside, err := insideFolder(f.Dir, p.File, p.Digest)
		if err != nil {
			refusals = append(refusals, fmt.Errorf("the grant of the folder %s does not hold: %w", f.Dir, err))
		}
		if !inside {
			continue
		}
		if more := p.Access.Without(f.Asked); len(more) > 0 {
			return nil, "", &MoreError{f.Dir, more}
		}
		return f.Lines, by(f.By, f.Time.Local().Format("2 Jan 2006")) + ", for the folder " + f.Dir, nil
	}
	if len(refusals) > 0 {
		return nil, "", errors.Join(refusals...)
	}
	return nil, "", host.ErrNotGranted
}

// MoreError says that a build asks for more than the grant of its folder was asked for.
type MoreError struct {
	Dir   string
	Lines access.Set // what is new
}

func (e *MoreError) Error() string {
	return fmt.Sprintf("this build asks for more than was granted to the folder %s:\n  %s\nif that is right, grant it to the folder", e.Dir, strings.Join(e.Lines, "\n  "))
}

// Remedy implements [remedy.Carrier].
func (e *MoreError) Remedy() []remedy.Remedy {
	return []remedy.Remedy{{Action: remedy.GrantFolder, Folder: e.Dir}}
}

func by(who, day string) string {
	if who == "" {
		who = "you"
	}
	return who + ", on " + day
}

// untouched refuses a plugin of the store whose module is not what was installed.
func (s *Store) untouched(p host.Plugin) error {
	dir := filepath.Dir(p.File)
	if filepath.Dir(dir) != s.bundles {
		return nil
	}
	known, _ := s.looked.LoadOrStore(dir, &remembered[Installed]{})
	files := [2]string{filepath.Join(dir, recordFile), filepath.Join(dir, p.Manifest.ID+".yaml")}
	in, err := known.(*remembered[Installed]).get(time.Now(), files, func() (Installed, error) { return s.lookup(filepath.Base(dir)) })
	if err != nil {
		return err
	}
	if in.Wasm != p.Digest || in.ID != p.Manifest.ID {
		return again("the stored plugin %s %s in %s was changed", in.ID, in.Version, dir)
	}
	return nil
}
