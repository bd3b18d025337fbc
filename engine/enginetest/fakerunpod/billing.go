package fakerunpod

import (
	"net/http"
	"net/url"
	"strconv"
	"time"
)

type billRecord struct {
	StartTime time.Time `json:"startTime"`
	EndTime   time.Time `json:"endTime"`
	PodID     string    `json:"podId"`
	amounts
}

type amounts struct {
	Total float64 `json:"totalAmount"` // USD
	GPU   float64 `json:"gpuAmount"`
	CPU   float64 `json:"cpuAmount"`
	Disk  float64 `json:"diskAmount"` // always 0 here
}

func (a *amounts) add(b amounts) {
	a.Total += b.Total
	a.GPU += b.GPU
	a.CPU += b.CPU
}

// period is a time in buckets.
type period struct {
	from, to time.Time
	size     string
	explicit bool
}

// bucket is the beginning of the bucket that t is in.
func (p period) bucket(t time.Time) time.Time {
	y, m, d := t.Date()
	switch p.size {
	case "hour":
		return t.Truncate(time.Hour)
	case "week":
		return time.Date(y, m, d-(int(t.Weekday())+6)%7, 0, 0, 0, 0, time.UTC)
	case "month":
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	case "year":
		return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func (p period) next(t time.Time, n int) time.Time {
	switch p.size {
	case "hour":
		return t.Add(time.Duration(n) * time.Hour)
	case "week":
		return t.AddDate(0, 0, 7*n)
	case "month":
		return t.AddDate(0, n, 0)
	case "year":
		return t.AddDate(n, 0, 0)
	}
	return t.AddDate(0, 0, n)
}

func parsePeriod(q url.Values, now time.Time) (period, error) {
	p := period{from: now.AddDate(0, 0, -30), to: now, size: "day"}
	if size := q.Get("bucketSize"); size != "" {
		if err := oneOf("bucketSize", []string{size}, "hour", "day", "week", "month", "year"); err != nil {
			return p, err
		}
		p.size = size
	}
	for name, at := range map[string]*time.Time{"startTime": &p.from, "endTime": &p.to} {
		if text := q.Get(name); text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return p, unprocessable(name, text)
			}
			*at, p.explicit = t.UTC(), true
		}
	}
	if text := q.Get("lastN"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return p, unprocessable("lastN", text)
		}
		if p.explicit {
			return p, problemf(http.StatusBadRequest, "lastN and startTime or endTime are mutually exclusive")
		}
		p.from = p.next(p.bucket(now), 1-n)
	}
	p.from = p.bucket(p.from)
	if end := p.bucket(p.to); end.Before(p.to) {
		p.to = p.next(end, 1)
	}
	return p, nil
}

// maxBuckets keeps a request for many years of hours from taking long.
const maxBuckets = 10000

func billPods(c *Cloud, r *request) (reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := parsePeriod(r.URL.Query(), c.now())
	if err != nil {
		return reply{}, err
	}
	var wanted *string
	if id := r.URL.Query().Get("podId"); id != "" {
		wanted = &id
	}
	records, totals, pods := []billRecord{}, amounts{}, map[string]bool{}
	n := 0
	for at := p.from; at.Before(p.to) && n < maxBuckets; at = p.next(at, 1) {
		n++
		for _, rec := range c.bill(at, p.next(at, 1)) {
			if wanted == nil || *wanted == rec.PodID {
				records = append(records, rec)
				totals.add(rec.amounts)
				pods[rec.PodID] = true
			}
		}
	}
	return ok(map[string]any{"records": records, "metadata": map[string]any{
		"query":       map[string]any{"startTime": p.from, "endTime": p.to, "bucketSize": p.size, "podId": wanted},
		"recordCount": len(records), "uniquePodCount": len(pods), "totals": totals,
	}})
}

func (c *Cloud) bill(from, to time.Time) []billRecord {
	var records []billRecord
	for _, p := range c.pods {
		sum := p.amount(from, to, c.now())
		if sum == 0 {
			continue
		}
		a := amounts{Total: sum, GPU: sum}
		if p.cpu != nil {
			a.GPU, a.CPU = 0, sum
		}
		records = append(records, billRecord{from, to, p.id, a})
	}
	return records
}
