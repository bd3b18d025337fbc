package value

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// textForm is how a text of Python looks.
func textForm(kind string) *regexp.Regexp {
	const date = `\d{4}-\d\d-\d\d`
	const clock = `([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{3}(\d{3})?)?)?([+-]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{6})?)?)?`
	switch kind {
	case "date":
		return regexp.MustCompile(`^` + date + `$`)
	case "time":
		return regexp.MustCompile(`^` + clock + `$`)
	case "datetime":
		return regexp.MustCompile(`^` + date + `([T ]` + clock + `)?$`)
	}
	return regexp.MustCompile(`^([+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?|[+-]?(s?NaN\d*|Infinity))$`)
}

func (t Text) valid() bool {
	if !textForm(t.Kind).MatchString(t.Text) {
		return false
	}
	if t.Kind != "date" && t.Kind != "datetime" {
		return true
	}
	day, err := time.Parse(time.DateOnly, t.Text[:len(time.DateOnly)])
	return err == nil && day.Year() > 0
}

// String is an ISO 8601 duration.
func (t Timedelta) String() string {
	micros, seconds := t.Microseconds, t.Seconds
	more, micros := divmod(micros, 1e6)
	days, seconds := divmod(seconds+more, 86400)
	days += t.Days
	sign := ""
	if days < 0 { // all three are turned round
		sign = "-"
		days, seconds, micros = -days-1, 86399-seconds, 1e6-micros
		if micros == 1e6 {
			seconds, micros = seconds+1, 0
		}
		if seconds == 86400 {
			days, seconds = days+1, 0
		}
	}
	text := fmt.Sprintf("%sP%dDT%d", sign, days, seconds)
	if micros > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%06d", micros), "0")
	}
	return text + "S"
}
