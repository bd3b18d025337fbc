package gpulease

import (
	"context"
	"encoding/json"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seer-engine/seer/internal/text"
)

const version = 1

// content is the content of the file of a claim or a ticket. Any user can write any content.
type content struct {
	Version int `json:"version"`
	Claimed
	Wish *Wish `json:"wish,omitempty"` // of a ticket
}

// Take claims GPUs for a sandbox. ticket is its place in the queue; nil = behind all others. The
// error is a [BusyError] if the GPUs are in use or earlier wishes wait for them.
func (f *Folder) Take(ctx context.Context, gpus []GPU, w Wish, who Owner, ticket *Ticket) ([]*Claim, error) {
	return f.take(ctx, gpus, waiting{w, f.owner(who)}, ticket, true)
}

// take chooses GPUs. It claims them only if claim is set.
func (f *Folder) take(ctx context.Context, gpus []GPU, me waiting, ticket *Ticket, claim bool) ([]*Claim, error) {
	uses, unlock, err := f.locked(ctx, gpus)
	if err != nil {
		return nil, err
	}
	defer unlock()
	before, err := f.before(ticket)
	if err != nil {
		return nil, err
	}
	chosen := choose(uses, before, me)
	if chosen == nil {
		return nil, busy(uses, before, me)
	}
	var claims []*Claim
	for _, i := range chosen {
		if !claim {
			break
		}
		c, err := f.claim(&uses[i], me)
		if err != nil {
			End(claims)
			return nil, err
		}
		claims = append(claims, c)
	}
	return claims, nil
}

func (f *Folder) claim(u *Use, me waiting) (*Claim, error) {
	k := Kept{Claimed: Claimed{
		Owner: me.Owner, UUID: u.UUID, Bytes: me.Share.Of(u.Memory), Group: me.Group, Since: time.Now().UTC().Truncate(time.Second),
	}}
	h, err := f.hold(prefix(u.UUID)+randomText()+claimSuffix, content{Version: version, Claimed: k.Claimed})
	if err != nil {
		return nil, err
	}
	k.Path = h.path
	return &Claim{k, h}, nil
}

func (f *Folder) owner(who Owner) Owner {
	who.UID, who.User = f.uid, f.user(f.uid)
	return who
}

// Look returns the GPUs with their present users.
func (f *Folder) Look(ctx context.Context, gpus []GPU) ([]Use, error) {
	uses, unlock, err := f.locked(ctx, gpus)
	if err != nil {
		return nil, err
	}
	unlock()
	return uses, nil
}

// locked returns the GPUs with their users, while nobody else can change these.
func (f *Folder) locked(ctx context.Context, gpus []GPU) (uses []Use, unlock func(), err error) {
	state, err := f.ask(ctx)
	if err != nil {
		return nil, nil, err
	}
	if unlock, err = f.lock(ctx); err != nil {
		return nil, nil, err
	}
	if uses, err = f.uses(gpus, state); err != nil {
		unlock()
		return nil, nil, err
	}
	return uses, unlock, nil
}

// uses combines the driver's report with the claims. The caller holds the mutex.
func (f *Folder) uses(gpus []GPU, state State) ([]Use, error) {
	living, err := f.living(claimSuffix)
	if err != nil {
		return nil, err
	}
	uses := make([]Use, len(gpus))
	for i, g := range gpus {
		u := Use{GPU: g, Device: state.device(g.UUID)}
		for _, one := range living {
			if c, ok := f.claimed(one, g); ok {
				u.Claims = append(u.Claims, c)
			}
		}
		for _, p := range state.Processes {
			// The processes of a sandbox run as the user of its claim.
			mine := func(c Claimed) bool { return c.UID == p.UID || c.Bytes == 0 }
			if p.UUID == g.UUID && !slices.ContainsFunc(u.Claims, mine) {
				if p.UID >= 0 {
					p.User = f.user(p.UID)
				}
				u.Others = append(u.Others, p)
			}
		}
		uses[i] = u
	}
	return uses, nil
}

// prefix is the beginning of the names of a GPU's claims.
func prefix(uuid string) string { return strings.ReplaceAll(uuid, "/", "_") + "-" }

// claimed reads a claim of a GPU. A claim with invalid content is one of the whole GPU, because a
// process holds it.
func (f *Folder) claimed(one found, g GPU) (Claimed, bool) {
	rest, ok := strings.CutPrefix(one.name, prefix(g.UUID))
	if !ok || strings.Contains(rest, "-") {
		return Claimed{}, false
	}
	var said content
	if json.Unmarshal(one.data, &said) != nil || said.Version != version || said.Bytes < 0 || said.Bytes > g.Memory {
		said = content{}
	}
	c := said.Claimed
	c.UID, c.User, c.UUID, c.Sandbox = one.uid, f.user(one.uid), g.UUID, plain(c.Sandbox)
	return c, true
}

// plain makes text of another user or program safe for messages: one line of at most 64
// characters.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	runes := []rune(text)
	return string(runes[:min(len(runes), 64)])
}

// user returns the name of a user of this computer, or "uid N" without a name.
func (f *Folder) user(uid int) string {
	if name, ok := f.users.Load(uid); ok {
		return name.(string)
	}
	name := "uid " + strconv.Itoa(uid)
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		name = plain(u.Username)
	}
	f.users.Store(uid, name)
	return name
}

// Occupied describes what a sandbox that has ended still has on its GPUs; empty = nothing. mine
// reports whether a process was one of the sandbox's.
func (f *Folder) Occupied(ctx context.Context, had []Kept, mine func(pid int) bool) (string, error) {
	state, err := f.ask(ctx)
	if err != nil {
		return "", err
	}
	for _, k := range had {
		known := int64(0)
		for _, p := range state.Processes {
			switch {
			case p.UUID != k.UUID:
			case mine(p.PID):
				return fmt.Sprintf("process %d is still on the GPU %s", p.PID, k.UUID), nil
			default:
				known += p.Memory
			}
		}
		// In a container the driver lists no processes. Only the memory in use shows then that the
		// GPU is occupied, unless a copy of the sandbox has the GPU, too.
		if used := state.device(k.UUID).Used; k.Bytes == 0 && used-known > idle && !f.shared(ctx, k) {
			return fmt.Sprintf("%s of the memory of the GPU %s are still in use", text.Bytes(used), k.UUID), nil
		}
	}
	return "", nil
}

// shared reports whether another claim of the same GPU exists.
func (f *Folder) shared(ctx context.Context, k Kept) bool {
	unlock, err := f.lock(ctx)
	if err != nil {
		return false
	}
	defer unlock()
	living, _ := f.living(claimSuffix) // an error only makes the caller wait some seconds longer
	return slices.ContainsFunc(living, func(one found) bool {
		return strings.HasPrefix(one.name, prefix(k.UUID)) && one.name != filepath.Base(k.Path)
	})
}

// Sleep waits with the clock of the folder ([Options].After), until ctx ends.
func (f *Folder) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.after(d):
		return nil
	}
}
