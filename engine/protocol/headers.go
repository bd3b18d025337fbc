package protocol

// Headers of an answer with a file's content.
const (
	HeaderMode  = "X-Seer-Mode" // octal
	HeaderSize  = "X-Seer-Size"
	HeaderMtime = "X-Seer-Mtime" // unix seconds
)

// FrameProtocol is the value of the Upgrade header of a handed-over connection.
const FrameProtocol = "seer-frames/2"

// HeaderClient names the client of a handed-over connection, which shares a turn
// in the queue with others of the name.
const HeaderClient = "Seer-Client"

// The headers of a journal's answer.
const (
	HeaderSegment = "X-Seer-Segment"
	HeaderNext    = "X-Seer-Next"
)

// PortProtocol is the value of the Upgrade header of a connection to a port.
const PortProtocol = "seer-port/1"

// HeaderOffset of an answer with output records is the spool's byte that it
// begins with: later than asked for where the oldest output has been dropped.
const HeaderOffset = "X-Seer-Offset"
