package fakegce

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// refusal is an error answer (not 2xx) to a call, in Google's envelope.
type refusal struct {
	Status       int
	Reason       string
	Message      string
	Domain       string // default "global"
	Location     string
	LocationType string
	Details      []any
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Reason, r.Message) }

func (r *refusal) body() []byte {
	type item struct {
		Message      string `json:"message"`
		Domain       string `json:"domain"`
		Reason       string `json:"reason"`
		Location     string `json:"location,omitempty"`
		LocationType string `json:"locationType,omitempty"`
	}
	type envelope struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Errors  []item `json:"errors"`
		Details []any  `json:"details,omitempty"`
	}
	domain := r.Domain
	if domain == "" {
		domain = "global"
	}
	items := []item{{r.Message, domain, r.Reason, r.Location, r.LocationType}}
	b, err := json.Marshal(map[string]envelope{"error": {r.Status, r.Message, items, r.Details}})
	if err != nil {
		return []byte(`{"error":{"code":500,"message":"unencodable error"}}`)
	}
	return b
}

func invalid(format string, args ...any) *refusal {
	return &refusal{Status: http.StatusBadRequest, Reason: "invalid", Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return &refusal{Status: http.StatusBadRequest, Reason: "badRequest", Message: fmt.Sprintf(format, args...)}
}

func required(field string) error {
	return &refusal{
		Status: http.StatusBadRequest, Reason: "required",
		Message: fmt.Sprintf("Required field '%s' not specified", field),
	}
}

func notFound(resource string) error {
	return &refusal{
		Status: http.StatusNotFound, Reason: "notFound",
		Message: fmt.Sprintf("The resource '%s' was not found", resource),
	}
}

// notImplemented refuses a feature of Compute that this fake lacks.
func notImplemented(message string) error {
	return &refusal{Status: http.StatusNotImplemented, Reason: "notImplemented", Message: message}
}

func alreadyExists(resource string) *refusal {
	return &refusal{
		Status: http.StatusConflict, Reason: "alreadyExists",
		Message: fmt.Sprintf("The resource '%s' already exists", resource),
	}
}

func notReady(resource string) *refusal {
	return &refusal{
		Status: http.StatusBadRequest, Reason: "resourceNotReady",
		Message: fmt.Sprintf("The resource '%s' is not ready", resource),
	}
}

func inUse(kind, resource, by string) error {
	return &refusal{
		Status: http.StatusBadRequest, Reason: "resourceInUseByAnotherResource",
		Message: fmt.Sprintf("The %s resource '%s' is already being used by '%s'", kind, resource, by),
	}
}

func conditionNotMet(format string, args ...any) *refusal {
	return &refusal{
		Status: http.StatusPreconditionFailed, Reason: "conditionNotMet", Message: fmt.Sprintf(format, args...),
		Location: "If-Match", LocationType: "header",
	}
}

// Problem is an error as operations, resize requests and managed instances carry it.
type Problem struct {
	Code    string           `json:"code"`
	Message string           `json:"message"`
	Details []map[string]any `json:"errorDetails,omitempty"` // each has a quotaInfo or an errorInfo
}

func problem(code, format string, args ...any) *Problem {
	return &Problem{Code: code, Message: fmt.Sprintf(format, args...)}
}

// errorsOf converts p into any of the API's error lists. These differ only in the names of
// their Go types.
func errorsOf[T any](p *Problem) *T {
	b, err := json.Marshal(map[string][]*Problem{"errors": {p}})
	if err != nil {
		return nil
	}
	list := new(T)
	if err := json.Unmarshal(b, list); err != nil {
		return nil
	}
	return list
}

// status returns the HTTP status that an operation reports with the problem.
func (p *Problem) status() int {
	switch p.Code {
	case "CONDITION_NOT_MET":
		return http.StatusPreconditionFailed
	case "RESOURCE_ALREADY_EXISTS", "CONFLICT":
		return http.StatusConflict
	case "RESOURCE_NOT_FOUND":
		return http.StatusNotFound
	case "QUOTA_EXCEEDED", "PERMISSION_DENIED", "PERMISSIONS_ERROR":
		return http.StatusForbidden
	case "ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "RESOURCE_POOL_EXHAUSTED_WITH_DETAILS":
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// problemOf converts a refusal into the error of an operation.
func problemOf(r *refusal) *Problem {
	codes := map[string]string{
		"conditionNotMet": "CONDITION_NOT_MET", "alreadyExists": "RESOURCE_ALREADY_EXISTS",
		"notFound": "RESOURCE_NOT_FOUND", "resourceNotReady": "RESOURCE_NOT_READY",
	}
	code, ok := codes[r.Reason]
	if !ok {
		code = "INVALID_ARGUMENT"
	}
	return &Problem{Code: code, Message: r.Message}
}
