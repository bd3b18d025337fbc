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

// Ticket is a place in the queue. It ends with [Ticket.Leave] or with the program.
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

// Wish returns the wish for which the ticket waits.
func (t *Ticket) Wish() Wish { return t.wish }

// Turn returns nil if the ticket's wish can have its GPUs now, and a [BusyError] if not. Any other
// error means that the use of the GPUs is unknown.
func (t *Ticket) Turn(ctx context.Context, gpus []GPU) error {
	_, err := t.f.take(ctx, gpus, waiting{t.wish, t.f.owner(Owner{})}, t, false)
	return err
}

// Leave gives up the place. A second call has no effect.
func (t *Ticket) Leave() {
	t.stop()
	t.release()
}

// maxTicket bounds the numbers in the names of tickets, so that no user can exhaust them.
const maxTicket = 1 << 40

func (one found) number() int {
	text, _, _ := strings.Cut(one.name, "-")
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxTicket {
		return 0
	}
	return n
}

// before returns the wishes before a ticket in the order of the queue; all wishes for nil.
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

// Intervals of a program that waits.
const (
	lookEvery = 500 * time.Millisecond // for locks: their holders may have been killed
	askEvery  = 5 * time.Second        // for the driver: programs without a claim may have ended
)

// Wait returns when the ticket's turn may have come: after a change in the folder, after the end
// of a process that held a file, or after 5 seconds. Its only error is that of ctx.
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

// holders returns the names of all files that count; nil if the lock of the folder is not
// available.
func (f *Folder) holders(ctx context.Context) (names []string) {
	unlock, err := f.lock(ctx)
	if err != nil {
		return nil
	}
	defer unlock()
	for _, suffix := range []string{claimSuffix, ticketSuffix} {
		living, _ := f.living(suffix) // the next look repeats it
		for _, one := range living {
			names = append(names, one.name)
		}
	}
	return names
}

// watch reports changes in a folder. If the system does not support that, the channel stays
// silent, and [Ticket.Wait] relies on its regular looks.
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
