package guest

import "fmt"

// Debugf writes to Seer's log at level debug. The host limits how much a call
// may log.
func Debugf(format string, args ...any) { logDebug(fmt.Sprintf(format, args...)) }

// Infof is [Debugf] at level info.
func Infof(format string, args ...any) { logInfo(fmt.Sprintf(format, args...)) }

// Warnf is [Debugf] at level warn.
func Warnf(format string, args ...any) { logWarn(fmt.Sprintf(format, args...)) }
