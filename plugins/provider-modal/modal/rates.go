package modal

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/gpu"
)

const rateLife = time.Hour

// rateCache keeps a price list for a while.
type rateCache struct {
	mu   sync.Mutex
	list priceList
	till time.Time
}

// priceList is the built-in list with the workspace's own rates where Modal tells
// them. Not every token may ask, and not every server knows.
func (s *session) priceList(ctx context.Context) (priceList, error) {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	if s.now().Before(s.rates.till) {
		return s.rates.list, nil
	}
	list, err := builtIn()
	if err != nil {
		return list, err
	}
	answer, err := s.api.WorkspaceBillingRates(ctx, &pb.WorkspaceBillingRatesRequest{})
	if err = fault(ctx, "asking for prices", err); err != nil {
		switch sdk.CodeOf(err) {
		case sdk.Unsupported, sdk.Unauthorized, sdk.NotFound, sdk.Invalid:
		default:
			return list, err
		}
	}
	list.apply(answer.GetRates())
	s.rates.list, s.rates.till = list, s.now().Add(rateLife)
	return list, nil
}

// apply takes over rates, in USD for a unit and hour. Their names are Modal's and
// not documented: what is not understood is left out.
func (l *priceList) apply(rates map[string]string) {
	l.GPUs = slices.Clone(l.GPUs)
	for _, name := range slices.Sorted(maps.Keys(rates)) {
		value, err := strconv.ParseFloat(rates[name], 64)
		if err != nil {
			continue
		}
		words := strings.FieldsFunc(strings.ToUpper(name), func(r rune) bool { return strings.ContainsRune(" _-./:", r) })
		sandbox := slices.Contains(words, "SANDBOX") || slices.Contains(words, "SANDBOXES")
		switch {
		case sandbox && slices.Contains(words, "CPU"):
			change(&l.CPUCoreHour, value)
		case sandbox && (slices.Contains(words, "MEMORY") || slices.Contains(words, "MEM")):
			change(&l.MemoryGiBHour, value)
		default:
			l.setGPU(gpu.Canonical(strings.Join(words, "-")), value)
		}
	}
}

func (l *priceList) setGPU(name string, hour float64) {
	for i := range l.GPUs {
		if l.GPUs[i].Name == name {
			change(&l.GPUs[i].Hour, hour)
		}
	}
}

// change takes over a price, unless it is so far from the old one that it must be that
// of another unit.
func change(price *float64, value float64) {
	if value > *price/10 && value < *price*10 {
		*price = value
	}
}
