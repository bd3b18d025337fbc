package gpulease

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Ticket is a place in the queue, until it is left or the program ends.
type Ticket struct {
	*held
	name string
	wish Wish
	f    *Folder

	changes <-chan struct{}
	stop    func()
}

// Queue takes the last place in the queue.
func (f *Folder) Queue(ctx context.Context, w Wish, who Owner) (*Ticket, error) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	living, err := f.living(ticketSuffix)
	if err != nil {
		return nil, err
	}
	last := 0
	for _, one := range living {
		last = max(last, one.number())
	}
	name := fmt.Sprintf("%012d-%s%s", last+1, randomText(), ticketSuffix)
	h, err := f.hold(name, content{Version: version, Claimed: Claimed{Owner: f.owner(who), Since: time.Now().UTC().Truncate(time.Second)}, Wish: &w})
	if err != nil {
		return nil, err
	}
	t := &Ticket{held: h, name: name, wish: w, f: f}
	t.changes, t.stop = watch(f.dir)
	return t, nil
}

// Wish is what the ticket is for.
func (t *Ticket) Wish() Wish { return t.wish }

// Turn is nil when the ticket's wish can have its GPUs now. Otherwise it is a [BusyError], or
// why that cannot be told.
func (t *Ticket) Turn(ctx context.Context, gpus []GPU) error {
	_, err := t.f.take(ctx, gpus, waiting{t.wish, t.f.owner(Owner{})}, t, false)
	return err
}

// Leave gives the place up. It may be called twice.
func (t *Ticket) Leave() {
	t.stop()
	t.release()
}

// maxTicket keeps others from numbers after which none is left.
const maxTicket = 1 << 40

func (one found) number() int {
	text, _, _ := strings.Cut(one.name, "-")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxTicket {
		return 0
	}
	return n
}

// before are the wishes before a ticket, or all; the first one first.
func (f *Folder) before(t *Ticket) ([]waiting, error) {
	living, err := f.living(ticketSuffix)
	if err != nil {
		return nil, err
	}
	var out []waiting
	for _, one := range living {
		if t != nil && one.name >= t.name {
			break
		}
		var said content
		if json.Unmarshal(one.data, &said) != nil || said.Version != version || said.Wish == nil || said.Wish.Share.Parts < 0 || said.Wish.Share.Bytes < 0 {
			continue
		}
		said.UID = one.uid
		out = append(out, waiting{*said.Wish, said.Owner})
	}
	return out, nil
}

// How often a waiting program looks: at locks of others, whose holders may have been killed,
// and at the driver, for what Seer does not know of.
const (
	lookEvery = 500 * time.Millisecond
	askEvery  = 5 * time.Second
)

// Wait returns when it may have become the ticket's turn: when something in the folder has
// changed, when a holder was killed, or after some seconds.
func (t *Ticket) Wait(ctx context.Context) error {
	before := t.f.holders(ctx)
	for range askEvery / lookEvery {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.changes:
			return nil
		case <-t.f.after(lookEvery):
		}
		if !slices.Equal(before, t.f.holders(ctx)) {
			return nil
		}
	}
	return nil
}

// holders are the names of all files that count.
func (f *Folder) holders(ctx context.Context) (names []string) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return nil
	}
	defer unlock()
	for _, suffix := range []string{claimSuffix, ticketSuffix} {
		living, _ := f.living(suffix) // the next look tells
		for _, one := range living {
			names = append(names, one.name)
		}
	}
	return names
}

// watch tells of changes in a folder. Where the system cannot, looking once in a while must do.
func watch(dir string) (<-chan struct{}, func()) {
	out := make(chan struct{}, 1)
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		if err = watcher.Add(dir); err != nil {
			_ = watcher.Close()
		}
	}
	if err != nil {
		return out, func() {}
	}
	go func() {
		for event := range watcher.Events {
			if event.Has(fsnotify.Remove) || event.Has(fsnotify.Create) {
				select {
				case out <- struct{}{}:
				default:
				}
			}
		}
	}()
	go func() {
		for range watcher.Errors { // an overflow: the next look finds everything
		}
	}()
	return out, func() { _ = watcher.Close() }
}
