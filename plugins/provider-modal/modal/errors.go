package modal

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	sdkmodal "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seer-engine/seer/plugins/internal/oneline"
	"github.com/seer-engine/seer/sdk"
)

const (
	tokenHint  = "make a token at https://modal.com/settings/tokens (or with `modal token new`) and set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"
	creditHint = "look at https://modal.com/settings/usage, or ask for another provider"
)

// What Modal says when it has nothing left. There is one code for all of it, so
// the text must tell.
var (
	saysCapacity = regexp.MustCompile(`(?i)capacity`)
	saysRate     = regexp.MustCompile(`(?i)rate.?limit|too many requests|throttl`)
	saysAccount  = regexp.MustCompile(`(?i)quota|credit|billing|payment|spend|budget|limit`)
)

// fault says in the words of the contract how a call failed. A cancelled call stays
// what it is.
func fault(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s: %w", doing, context.Canceled)
	}
	var own *sdk.Error
	if errors.As(err, &own) {
		return own // of the host, or our own: it says all, and the SDK's words around it nothing
	}
	if code, text, ok := ofSDK(err); ok {
		return sdk.Errorf(code, "%s: %s", doing, tidy(text))
	}
	var carrier interface{ GRPCStatus() *status.Status }
	if errors.As(err, &carrier) {
		return ofStatus(doing, carrier.GRPCStatus())
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return sdk.Errorf(sdk.Unavailable, "%s: Modal did not answer in time", doing)
	}
	return sdk.Errorf(sdk.Internal, "%s: %s", doing, tidy(err.Error()))
}

func ofSDK(err error) (sdk.Code, string, bool) {
	var notFound sdkmodal.NotFoundError
	var invalid sdkmodal.InvalidError
	switch {
	case errors.As(err, &notFound):
		return sdk.NotFound, notFound.Exception, true
	case errors.As(err, &invalid):
		return sdk.Invalid, invalid.Exception, true
	default:
		return "", "", false
	}
}

func ofStatus(doing string, st *status.Status) *sdk.Error {
	text := tidy(st.Message())
	if after, ok := retryAfter(st); ok {
		return &sdk.Error{Code: sdk.RateLimited, Message: doing + ": Modal asks to slow down: " + text, Seconds: after}
	}
	switch st.Code() {
	case codes.Unauthenticated, codes.PermissionDenied:
		return sdk.Errorf(sdk.Unauthorized, "%s: Modal refuses: %s; %s", doing, text, tokenHint)
	case codes.NotFound:
		return sdk.Errorf(sdk.NotFound, "%s: %s", doing, text)
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange, codes.AlreadyExists:
		return sdk.Errorf(sdk.Invalid, "%s: Modal says: %s", doing, text)
	case codes.ResourceExhausted:
		return exhausted(doing, text)
	case codes.Unimplemented:
		return sdk.Errorf(sdk.Unsupported, "%s: this server of Modal's cannot do it: %s", doing, text)
	case codes.DeadlineExceeded:
		return sdk.Errorf(sdk.Unavailable, "%s: Modal did not answer in time", doing)
	default:
		return sdk.Errorf(sdk.Unavailable, "%s: Modal is not available now: %s", doing, text)
	}
}

func exhausted(doing, text string) *sdk.Error {
	switch {
	case saysCapacity.MatchString(text):
		return sdk.Errorf(sdk.NoCapacity, "%s: %s", doing, text)
	case !saysRate.MatchString(text) && saysAccount.MatchString(text):
		return sdk.Errorf(sdk.Unauthorized, "%s: this account may not use more: %s; %s", doing, text, creditHint)
	default:
		return sdk.Errorf(sdk.RateLimited, "%s: Modal asks to slow down: %s", doing, text)
	}
}

// retryAfter is how long the server asks to wait, in seconds.
func retryAfter(st *status.Status) (float64, bool) {
	for _, detail := range st.Details() {
		if policy, ok := detail.(*pb.RPCRetryPolicy); ok {
			return float64(policy.GetRetryAfterSecs()), true
		}
	}
	return 0, false
}

// gone reports that what a call was about does not exist. A call that names nothing
// but an id can be invalid only because the id is none.
func gone(err error) bool {
	code := sdk.CodeOf(err)
	return code == sdk.NotFound || code == sdk.Invalid
}

const maxText = 1000

// tidy makes one short line of what a server says.
func tidy(text string) string { return oneline.Tidy(text, maxText) }

// because joins a reason to what it explains.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
