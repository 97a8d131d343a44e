package gce

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/googleapi"

	"slurmflex/mig"
)

// endOfTime begins the date that Compute gives where it expects no date.
const endOfTime = "9999-"

// messageLimit bounds a message in bytes: it ends in a line of a log and in a
// job's comment.
const messageLimit = 1000

// failure is the error of a call as package mig knows it, nil if err is nil.
func failure(op, object string, want intent, err error) error {
	if err == nil {
		return nil
	}
	cause, quota := causeOfError(err, want)
	return &mig.Error{Op: op, Object: object, Cause: cause, Quota: quota, Err: &textError{textOf(err), err}}
}

// causeOfError returns the error's cause, and the quota that is used up, if there is one.
func causeOfError(err error, want intent) (mig.Cause, mig.UsedUp) {
	var (
		lost   *lostError
		ended  *operationError
		answer *googleapi.Error
	)
	switch {
	case errors.As(err, &lost): // first: what it wraps is not about the thing
		return mig.CauseUnavailable, mig.UsedUp{}
	case errors.As(err, &ended):
		return causeOf(ended.faults, want), usedUpIn(ended.faults)
	case errors.As(err, &answer):
		f := answerFault(answer)
		return f.cause(want), usedUpIn([]fault{f})
	case refused(err):
		return mig.CausePermission, mig.UsedUp{}
	}
	return mig.CauseUnavailable, mig.UsedUp{}
}

// textOf is the error in one line and in the API's own words, without the
// address of the call: the object says what it was about.
func textOf(err error) string {
	var (
		lost   *lostError
		zone   *zoneError
		answer *googleapi.Error
		sent   *url.Error
	)
	switch {
	case errors.As(err, &lost):
		return lost.Error()
	case errors.As(err, &zone):
		return oneLine(zone.Error())
	case errors.As(err, &answer):
		return answerFault(answer).String()
	case errors.As(err, &sent):
		return oneLine(sent.Err.Error())
	}
	return oneLine(err.Error())
}

// textError is an error with its text in one line.
type textError struct {
	text string
	err  error
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// operationError is an operation that ended with errors.
type operationError struct{ faults []fault }

func (e *operationError) Error() string { return describe(e.faults) }

// zoneError is the error of a list about one of its zones.
type zoneError struct {
	zone string
	err  error
}

func (e *zoneError) Error() string { return "zone " + e.zone + ": " + textOf(e.err) }
func (e *zoneError) Unwrap() error { return e.err }

// lostError is an operation of which nobody knows how it ended.
type lostError struct {
	operation string
	err       error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("outcome of %s unknown: %s", e.operation, textOf(e.err))
}

func (e *lostError) Unwrap() error { return e.err }

// answerFault is the fault in an HTTP answer that is not a success.
func answerFault(e *googleapi.Error) fault {
	f := fault{status: e.Code, message: e.Message}
	switch {
	case e.Message == "" && len(e.Errors) == 0:
		f.code, f.message = notGoogles, fmt.Sprintf("%s: %q", http.StatusText(e.Code), excerpt([]byte(e.Body)))
	case len(e.Errors) > 0:
		// Not apierror's Reason, which is empty for every answer in this form.
		f.code = e.Errors[0].Reason
	case infoReason(e.Details) != "":
		f.code = infoReason(e.Details)
	case e.Code == http.StatusNotFound:
		f.code = "notFound"
	}
	return f
}

// infoReason is the reason of the google.rpc.ErrorInfo among an answer's
// details.
func infoReason(details []any) string {
	for _, d := range details {
		if info, ok := d.(map[string]any); ok {
			if reason, ok := info["reason"].(string); ok {
				return reason
			}
		}
	}
	return ""
}

// operationFaults are the faults of an operation that is done. Both places
// count: an operation may carry errors without an HTTP status, which Google's
// own Wait takes for a success.
func operationFaults(op *computepb.Operation) []fault {
	status := int(op.GetHttpErrorStatusCode())
	faults := recordOf(op.GetError()).faults()
	for i := range faults {
		faults[i].status = status
	}
	if len(faults) == 0 && status >= 400 {
		faults = []fault{{status: status, message: op.GetHttpErrorMessage()}}
	}
	if last := len(faults) - 1; last >= 0 {
		faults[last].details = append(faults[last].details, locationTexts(op)...)
	}
	return faults
}

func pairs(m map[string]string) []string {
	var texts []string
	for k, v := range m {
		if !strings.HasPrefix(v, endOfTime) {
			texts = append(texts, k+"="+v)
		}
	}
	slices.Sort(texts)
	return texts
}

// String is the fault in one line, as Google words it.
func (f fault) String() string {
	var head []string
	if f.status != 0 {
		head = append(head, fmt.Sprint(f.status))
	}
	if f.code != "" {
		head = append(head, f.code)
	}
	text := f.message
	if len(head) > 0 {
		text = strings.Join(head, " ") + ": " + text
	}
	if len(f.details) > 0 {
		text += " (" + strings.Join(f.details, ", ") + ")"
	}
	return oneLine(text)
}

// describe is all faults in one line.
func describe(faults []fault) string {
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.String()
	}
	return oneLine(strings.Join(texts, "; "))
}

// oneLine folds white space and cuts what is too long.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > messageLimit {
		s = strings.ToValidUTF8(s[:messageLimit], "") + "…"
	}
	return s
}

// excerpt is the beginning of an answer that makes no sense.
func excerpt(body []byte) string {
	const length = 80
	return oneLine(strings.ToValidUTF8(string(body[:min(len(body), length)]), ""))
}
