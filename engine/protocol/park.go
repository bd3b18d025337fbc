package protocol

import "time"

// FreezeLimit is how long a machine stays frozen at most.
const FreezeLimit = 60 * time.Second

// Frozen is what a runtime says when it has frozen its machine.
type Frozen struct {
	ID        string     `json:"id,omitempty"` // of the freeze; older runtimes have none
	Frozen    int        `json:"frozen"`       // processes that stand still
	NotFrozen []Unfrozen `json:"not_frozen"`   // processes that do not, and may still write
}

// Unfrozen is a process that could not be frozen.
type Unfrozen struct {
	Pid  int    `json:"pid"`
	Name string `json:"name"`
	Why  string `json:"why"`
}

// ParkLimit is how long a machine stays parked at most, if nobody says how it goes on.
const ParkLimit = 2 * time.Minute

// AskedParkLimit replaces [ParkLimit] while the client that parked the machine shows that it
// lives. It takes minutes to save the memory of a large GPU.
const AskedParkLimit = 30 * time.Minute

// AskerLimit is how long a machine that was parked with it waits for a sign of whoever had
// it parked: it is much longer than any pause of a program that lives.
const AskerLimit = 15 * time.Second

// ParkRequest has a machine stand still and let go of everything that leads out of it, so
// that its processes can be saved.
type ParkRequest struct {
	ID string `json:"id"` // 32 hex digits that nobody inside can guess
	// Key is 64 hex digits that only whoever parks the machine and its runtime know: both
	// prove themselves with it (package parking).
	Key string `json:"key"`
	// Seconds are until it goes on by itself; 0 = [ParkLimit], which is also the most, or
	// [AskedParkLimit] with AskerSeconds.
	Seconds float64 `json:"seconds,omitempty"`
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
	// Thaw has a machine that is no copy go on soon without [client.Client.Thaw]: who parked it is gone.
	Thaw        bool              `json:"thaw,omitempty"`
	AdminSHA256 string            `json:"admin_sha256,omitempty"`
	EndUnix     int64             `json:"end_unix,omitempty"`     // hard end; 0 = none
	BootSeconds float64           `json:"boot_seconds,omitempty"` // first lease
	Services    map[string]string `json:"services,omitempty"`     // SHA-256 of each one's new token; one without is closed
}
