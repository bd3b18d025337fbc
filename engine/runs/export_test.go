package runs

import "time"

// SetAfter replaces the clock that decides when the log is brought to the disk.
func SetAfter(f *Folder, after func(time.Duration, func()) *time.Timer) { f.after = after }

// RemoveFolder removes the folder of a run by the given function.
var RemoveFolder = removeFolder
