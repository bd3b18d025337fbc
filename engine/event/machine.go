package event

// MachineStarting says that a machine is rented or made.
type MachineStarting struct {
	step
	Provider  string `json:"provider" jsonschema:"the first choice"`
	Isolation string `json:"isolation,omitempty" jsonschema:"on this computer: bubblewrap, gvisor or none"`
}

// MachineMessage is what the provider says of the machine.
type MachineMessage struct {
	step
	Message string `json:"message" jsonschema:"one line"`
}

// MachineWarning is a warning of the provider.
type MachineWarning struct {
	warning
	Message string `json:"message" jsonschema:"one line"`
	Advice
}

// PortMoved says that a port of the sandbox has another number outside, because that of this
// computer is taken.
type PortMoved struct {
	step
	Port int    `json:"port" jsonschema:"in the sandbox"`
	URL  string `json:"url" jsonschema:"where it is outside"`
}

// ImageSaving says that the provider saves the file system of a machine.
type ImageSaving struct {
	step
	Sandbox string `json:"sandbox" jsonschema:"ID"`
}

// ImageSaved says that the file system is saved.
type ImageSaved struct {
	done
	Image string `json:"image" jsonschema:"its name at the provider"`
}
