package ssh

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/seer-engine/seer/plugins/internal/bare"
	"github.com/seer-engine/seer/sdk"
)

// callTime is for one call of the contract; the limit of Seer is 30 seconds. What is left is
// enough to answer with what other hosts have said.
const callTime = 25 * time.Second

// ask calls a method of the provider on a host. Its errors name the host.
func ask[Out any](ctx context.Context, p *Provider, host, method string, in any) (Out, error) {
	return bare.Ask[Out](ctx, p.Runner, host, []string{sdk.SSHProgram, "provider", method}, in)
}

// answer is what one of several hosts has said.
type answer[Out any] struct {
	host string
	out  Out
	err  error
}

// askAll asks hosts at once, and returns their answers in the order of the hosts.
func askAll[Out any](ctx context.Context, p *Provider, hosts []string, method string, in func(host string) any) []answer[Out] {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	answers := make([]answer[Out], len(hosts))
	var work sync.WaitGroup
	for i, host := range hosts {
		work.Go(func() {
			out, err := ask[Out](ctx, p, host, method, in(host))
			answers[i] = answer[Out]{host, out, err}
		})
	}
	work.Wait()
	return answers
}

// failed joins the errors of hosts into one, with the code of the first; nil = there is none.
func failed[Out any](answers []answer[Out]) error {
	var texts []string
	var first error
	for _, a := range answers {
		if a.err != nil {
			texts = append(texts, a.err.Error())
			if first == nil {
				first = a.err
			}
		}
	}
	if first == nil {
		return nil
	}
	var e *sdk.Error
	if !errors.As(first, &e) || len(texts) == 1 {
		return first
	}
	return &sdk.Error{Code: e.Code, Message: strings.Join(texts, "; "), Seconds: e.Seconds}
}

// split takes a handle apart; ok is false for one that is not of this provider.
func split(handle string) (host, inner string, ok bool) {
	host, inner, ok = strings.Cut(handle, "/")
	return host, inner, ok && host != "" && inner != ""
}

func join(host, inner string) string { return fmt.Sprintf("%s/%s", host, inner) }
