// Package text words numbers for people.
package text

import (
	"fmt"
	"math"
)

// Plural is a number of things, such as "2 files".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Bytes is a size in the largest decimal unit that it reaches, such as "1.5 MB".
func Bytes(n int64) string {
	const unit = 1000
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, prefix := float64(n)/unit, 0
	for value >= unit && prefix < 4 {
		value /= unit
		prefix++
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGTP"[prefix])
}

// Duration is a time in seconds, as exact as an estimate is: "45 s", "2 min 30 s", "3 h 5 min".
func Duration(seconds float64) string {
	const minute, hour = 60, 3600
	switch s := int64(math.Ceil(min(max(seconds, 0), math.MaxInt32))); {
	case s < minute:
		return fmt.Sprintf("%d s", s)
	case s < 10*minute && s%minute > 0:
		return fmt.Sprintf("%d min %d s", s/minute, s%minute)
	case s < hour:
		return fmt.Sprintf("%d min", s/minute)
	case s%hour < minute:
		return fmt.Sprintf("%d h", s/hour)
	default:
		return fmt.Sprintf("%d h %d min", s/hour, s%hour/minute)
	}
}

// Wait is an expected time in a queue and what is known of the queue: "~12 min (3 jobs wait)".
// Empty = neither is known.
func Wait(seconds float64, queue string) string {
	switch {
	case seconds <= 0:
		return queue
	case queue == "":
		return "~" + Duration(seconds)
	}
	return fmt.Sprintf("~%s (%s)", Duration(seconds), queue)
}
