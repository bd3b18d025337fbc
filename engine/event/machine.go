package event

// MachineStarting says that a machine is rented or made.
type MachineStarting struct {
	Provider  string `json:"provider" jsonschema:"the first choice"`
	Isolation string `json:"isolation,omitempty" jsonschema:"on this computer: bubblewrap, gvisor or none"`
}

// Meta implements [Data].
func (MachineStarting) Meta() Meta { return Meta{"machine.starting", KindStep} }

// MachineMessage is what the provider says of the machine.
type MachineMessage struct {
	Message string `json:"message" jsonschema:"one line"`
}

// Meta implements [Data].
func (MachineMessage) Meta() Meta { return Meta{"machine.message", KindStep} }

// MachineWarning is a warning of the provider.
type MachineWarning struct {
	Message string `json:"message" jsonschema:"one line"`
	Advice
}

// Meta implements [Data].
func (MachineWarning) Meta() Meta { return Meta{"machine.warning", KindWarning} }

// PortMoved says that a port of the sandbox has another number outside, because that of this
// computer is taken.
type PortMoved struct {
	Port int    `json:"port" jsonschema:"in the sandbox"`
	URL  string `json:"url" jsonschema:"where it is outside"`
}

// Meta implements [Data].
func (PortMoved) Meta() Meta { return Meta{"machine.port_moved", KindStep} }

// ImageSaving says that the provider saves the file system of a machine.
type ImageSaving struct {
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// Meta implements [Data].
func (ImageSaving) Meta() Meta { return Meta{"machine.image_saving", KindStep} }

// ImageSaved says that the file system is saved.
type ImageSaved struct {
	Image string `json:"image" jsonschema:"its name at the provider"`
}

// Meta implements [Data].
func (ImageSaved) Meta() Meta { return Meta{"machine.image_saved", KindDone} }
