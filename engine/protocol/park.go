package protocol

import (
	"context"
	"net/http"
	"time"
)

// ParkLimit is how long a machine stays parked at most, if nobody says how it goes on.
const ParkLimit = 2 * time.Minute

// AskerLimit is how long a machine that was parked with it waits for a sign of whoever had
// it parked: it is much longer than any pause of a program that lives.
const AskerLimit = 15 * time.Second

// ParkRequest has a machine stand still and let go of everything that leads out of it, so
// that its processes can be saved.
type ParkRequest struct {
	ID string `json:"id"` // 32 hex digits that nobody inside can guess
	// Key is 64 hex digits that only whoever parks the machine and its runtime know: both
	// prove themselves with it (package parking).
	Key     string  `json:"key"`
	Seconds float64 `json:"seconds,omitempty"` // until it goes on by itself; 0 = [ParkLimit], which is also the most
	// AskerSeconds has the machine go on by itself that long after the file here-ID in the
	// folder of its socket was last touched: who had it parked touches it every second,
	// until the machine has been thawed. The machine does not leave its socket before the
	// file is there. 0 = nobody does.
	AskerSeconds float64 `json:"asker_seconds,omitempty"`
}

// Renewal is what a machine is told, sealed in the file go-ID in the folder of its socket, when
// its processes have been saved, or go on elsewhere.
type Renewal struct {
	// Copy says that this is another machine than the one that was parked: all that
	// follows is its own.
	Copy bool `json:"copy"`
	// Thaw has a machine that is no copy go on soon without [Client.Thaw]: who parked it is gone.
	Thaw        bool              `json:"thaw,omitempty"`
	AdminSHA256 string            `json:"admin_sha256,omitempty"`
	EndUnix     int64             `json:"end_unix,omitempty"`     // hard end; 0 = none
	BootSeconds float64           `json:"boot_seconds,omitempty"` // first lease
	Services    map[string]string `json:"services,omitempty"`     // SHA-256 of each one's new token; one without is closed
}

// Park has the machine close its socket and stand still: the answer comes before. When it
// is parked, it makes the file park-ID in the folder of the socket, and waits there for
// go-ID with a [Renewal]. It then listens again, and goes on after [Client.Thaw] or
// [ParkLimit]. A machine that has found neither file is a copy that nobody wanted, and
// ends. Nothing else moves then: otherwise it
// goes on, and that is a [Conflict]. [Unsupported] where it does not listen on a Unix socket; [Conflict] as for
// [Client.Freeze]. It takes the admin token.
func (c *Client) Park(ctx context.Context, req ParkRequest) (Frozen, error) {
	var f Frozen
	return f, c.json(ctx, http.MethodPost, "/v1/park", nil, req, &f)
}

// Thaw has a parked machine go on. [Conflict] means that it went on before by itself, so
// that what was copied meanwhile may not be consistent.
func (c *Client) Thaw(ctx context.Context) error {
	return c.json(ctx, http.MethodPost, "/v1/thaw", nil, nil, nil)
}
