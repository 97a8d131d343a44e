package gce

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	rest "google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"

	"slurmflex/mig"
)

// endOfTime is the year of the date that Compute reports when it expects no date.
const endOfTime = 9999

// messageLimit bounds a message in bytes, because the message appears in a log line and in a job's
// comment.
const messageLimit = 1000

// failure wraps err in a mig.Error; nil if err is nil.
func failure(op, object string, want intent, err error) error {
	if err == nil {
		return nil
	}
	failed := &mig.Error{Op: op, Object: object, Trouble: mig.Trouble{Cause: mig.CauseUnavailable, Message: textOf(err)}, Err: err}
	var (
		lost   *lostError
		ended  *operationError
		answer *googleapi.Error
	)
	switch {
	case errors.As(err, &lost): // first: the wrapped error is not about the object
	case errors.As(err, &ended):
		failed.Ended, failed.Cause, failed.Quota = true, causeOf(ended.faults, want), usedUpIn(ended.faults)
	case errors.As(err, &answer):
		f := answerFault(answer)
		failed.Cause, failed.Quota = f.cause(want), usedUpIn([]fault{f})
	case refused(err):
		failed.Cause = mig.CauseCredentials
	}
	return failed
}

// textOf returns the error in one line, in the API's own words and without the URL of the call: the
// object already names the target.
func textOf(err error) string {
	var (
		lost   *lostError
		answer *googleapi.Error
		sent   *url.Error
	)
	switch {
	case errors.As(err, &lost):
		return lost.Error()
	case errors.As(err, &answer):
		return answerFault(answer).String()
	case errors.As(err, &sent):
		return oneLine(sent.Err.Error())
	case errors.As(err, new(*json.UnmarshalTypeError)): // an answer that does not fit Google's types
		return oneLine("answer not understood: " + err.Error())
	}
	return oneLine(err.Error())
}

// operationError is the error of an operation that ended with faults.
type operationError struct{ faults []fault }

func (e *operationError) Error() string { return describe(e.faults) }

// lostError is the error of an operation with an unknown outcome.
type lostError struct {
	operation string
	err       error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("outcome of %s unknown: %s", e.operation, textOf(e.err))
}

func (e *lostError) Unwrap() error { return e.err }

// answerFault returns the fault in an unsuccessful HTTP answer.
func answerFault(e *googleapi.Error) fault {
	f := fault{status: e.Code, message: e.Message}
	switch {
	case e.Message == "" && len(e.Errors) == 0:
		f.code, f.message = notGoogles, fmt.Sprintf("%s: %q", http.StatusText(e.Code), excerpt([]byte(e.Body)))
	case len(e.Errors) > 0:
		// apierror's Reason is empty for every answer in this form.
		f.code = e.Errors[0].Reason
	case infoReason(e.Details) != "":
		f.code = infoReason(e.Details)
	case e.Code == http.StatusNotFound:
		f.code = "notFound"
	}
	return f
}

// infoReason returns the reason of the google.rpc.ErrorInfo in an answer's details.
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

// operationFaults returns the faults of an operation that is done. It reads both places, because an
// operation may carry errors without an HTTP status. Google's own Wait treats such an operation as
// a success.
func operationFaults(op *rest.Operation) []fault {
	status := int(op.HttpErrorStatusCode)
	faults := faultsIn(op.Error)
	for i := range faults {
		faults[i].status = status
	}
	if len(faults) == 0 && status >= 400 {
		faults = []fault{{status: status, message: op.HttpErrorMessage}}
	}
	if last := len(faults) - 1; last >= 0 {
		faults[last].details = append(faults[last].details, locationTexts(op)...)
	}
	return faults
}

func pairs(m map[string]string) []string {
	var texts []string
	for k, v := range m {
		if !strings.HasPrefix(v, strconv.Itoa(endOfTime)+"-") {
			texts = append(texts, k+"="+v)
		}
	}
	slices.Sort(texts)
	return texts
}

// String returns the fault in one line that quotes Google's error message.
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

// describe joins all faults in one line.
func describe(faults []fault) string {
	texts := make([]string, len(faults))
	for i, f := range faults {
		texts[i] = f.String()
	}
	return oneLine(strings.Join(texts, "; "))
}

// oneLine collapses white space and truncates long text.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > messageLimit {
		s = strings.ToValidUTF8(s[:messageLimit], "") + "…"
	}
	return s
}

// excerpt returns the first part of an answer that could not be parsed.
func excerpt(body []byte) string {
	const length = 80
	return oneLine(strings.ToValidUTF8(string(body[:min(len(body), length)]), ""))
}
