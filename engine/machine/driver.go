package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/seer-engine/seer/sdk"
)

// Options are what a [Driver] works with.
type Options struct {
	Ledger *Ledger
	// Providers finds a provider by the name in a record.
	Providers func(ctx context.Context, name string) (sdk.Provider, error)
	// AskLease asks a running sandbox how long its lease really lasts; use extends it
	// there without the ledger knowing. Nil, or an error, leaves the ledger's word.
	AskLease func(ctx context.Context, r Record) (Lease, error)

	// Account tells apart the accounts with which a provider is asked now; empty = there
	// is only one, or it is not known. Nil is the same. One without [AccountPrefix] may
	// change with the credential.
	Account func(ctx context.Context, provider string) (string, error)

	// Late is how long after it was asked for a machine of a provider may appear, in its
	// list or at all. Nil, or 0, is a provider that always shows what there is.
	Late func(provider string) time.Duration

	Routes Routes       // carries ports of machines to this computer; nil = machines must be reachable without
	Clock  Clock        // nil is real time
	Logger hclog.Logger // nil is silent

	StartTimeout  time.Duration // for a start, without what it waits in queues; default 30 minutes
	ChoiceTimeout time.Duration // for the queue of a choice that says nothing else, while there are further ones; default 5 minutes
	QueueTimeout  time.Duration // for that of the last choice; default 30 minutes
	RetryTimeout  time.Duration // for the repetitions of one call; default 5 minutes
	EndTimeout    time.Duration // for ending a machine, in real time; default 1 minute
	KeepEnded     time.Duration // how long ended records are kept; default 24 hours
}

// Driver takes machines through their life with the short steps of a provider:
// waiting, retry, deadlines, cancellation and progress are here and nowhere else.
type Driver struct{ Options }

// NewDriver makes a driver.
func NewDriver(o Options) *Driver {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	for limit, standard := range map[*time.Duration]time.Duration{
		&o.StartTimeout: 30 * time.Minute, &o.ChoiceTimeout: 5 * time.Minute, &o.QueueTimeout: 30 * time.Minute, &o.RetryTimeout: 5 * time.Minute,
		&o.EndTimeout: time.Minute, &o.KeepEnded: 24 * time.Hour,
	} {
		if *limit <= 0 {
			*limit = standard
		}
	}
	return &Driver{o}
}

// provider finds a provider and puts the wrappers around it.
func (d *Driver) provider(ctx context.Context, name string, tell func(string)) (sdk.Provider, error) {
	p, err := d.Providers(ctx, name)
	if err != nil {
		return nil, &providerError{name, err}
	}
	return d.retrier(name, p, tell), nil
}

func (d *Driver) retrier(name string, p sdk.Provider, tell func(string)) *retrier {
	return &retrier{next: p, clock: d.Clock, limit: d.RetryTimeout, notify: func(op string, wait time.Duration, err error) {
		d.Logger.Warn("provider call failed in passing", "provider", name, "call", op, "wait", wait.Round(100*time.Millisecond), "error", err)
		tell(fmt.Sprintf("%s: %v; trying again in %s", name, err, wait.Round(100*time.Millisecond)))
	}}
}

func (d *Driver) late(provider string) time.Duration {
	if d.Late == nil {
		return 0
	}
	return d.Late(provider)
}

// mayAppear reports that a machine of the record, which nobody has seen, may still come.
func (d *Driver) mayAppear(r *Record) bool {
	age := d.Clock.Now().Sub(r.AskedAt) // negative where the clock was ahead
	return r.Handle == "" && age >= 0 && age < d.late(r.Provider)
}

func because(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
