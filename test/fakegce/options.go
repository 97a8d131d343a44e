package fakegce

import (
	"slices"
	"strings"
	"time"
)

// Options says what world the fake is. The zero value is a project "demo" with
// two regions where nothing takes any time and nothing ever runs out.
type Options struct {
	Project string   // default "demo"
	Zones   []string // such as us-central1-a; the regions follow; default DefaultZones
	Clock   Clock    // default the wall clock

	OperationTime   time.Duration // from an operation's start to DONE
	QueueTime       time.Duration // from ACCEPTED to the first attempt to find capacity
	AttemptInterval time.Duration // between attempts; 0 is DefaultAttemptInterval
	BootTime        time.Duration // PROVISIONING to RUNNING; STAGING, and SUCCEEDED, come halfway
	DeleteTime      time.Duration // STOPPING to gone

	PageLimit int    // results a page at most, whatever maxResults asks; 0 is no such limit
	Token     string // that calls must carry: Authorization: Bearer TOKEN; AnyToken: whichever; "": they need none

	// OnBoot is called when an instance enters RUNNING, and OnDelete when an
	// instance that was RUNNING leaves it, stopped or gone: every OnDelete has
	// its OnBoot before it. Hooks run one after the other, in the order of the
	// events, and may call the server.
	OnBoot, OnDelete func(Instance)

	Switches Switches
}

// DefaultAttemptInterval is the time between a queued request's attempts.
const DefaultAttemptInterval = 30 * time.Second

// DefaultZones are the zones of a world that names none.
func DefaultZones() []string {
	return []string{
		"us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f",
		"europe-west4-a", "europe-west4-b", "europe-west4-c",
	}
}

// Switches choose between the readings of what Google does not document. The
// zero value is the reading that the evidence favours.
type Switches struct {
	// TargetSizeAt is when a resize request raises the group's targetSize:
	// at once (""), when it is "ACCEPTED", or only when it has "SUCCEEDED".
	TargetSizeAt string `json:"targetSizeAt,omitempty"`
	// ExpiryKeepsTargetSize: the end of a lease leaves targetSize as it is.
	ExpiryKeepsTargetSize bool `json:"expiryKeepsTargetSize,omitempty"`
	// LostInstancesLeave: an instance deleted behind the group's back leaves
	// the group too, instead of staying a member without a VM.
	LostInstancesLeave bool `json:"lostInstancesLeave,omitempty"`
	// QueuedDeletable: deleteInstances may name the instances that a resize
	// request still waits for, and cancels that request.
	QueuedDeletable bool `json:"queuedDeletable,omitempty"`
	// CancelWhileCreating: a request may be cancelled in CREATING too.
	CancelWhileCreating bool `json:"cancelWhileCreating,omitempty"`
	// LateRefusals: what a state forbids (cancel or delete of a request in the
	// wrong state, a duplicate request name) is refused by the operation's error
	// instead of by the call's status.
	LateRefusals bool `json:"lateRefusals,omitempty"`
	// RequestErrorStatus: operations on resize requests that end with an error
	// carry httpErrorStatusCode too.
	RequestErrorStatus bool `json:"requestErrorStatus,omitempty"`
	// ForgetRefused: a request that fails its validation leaves no record.
	ForgetRefused bool `json:"forgetRefused,omitempty"`
	// PendingInstances: the instances that a queued request waits for are listed,
	// as PENDING. Compute's page "Instance life cycle" says so of flex-start
	// instances of groups, and of resize requests nothing.
	PendingInstances bool `json:"pendingInstances,omitempty"`
	// NoStaging: instances go from PROVISIONING to RUNNING directly.
	NoStaging bool `json:"noStaging,omitempty"`
	// NoActionOnceCreated: an instance's currentAction is NONE from the moment
	// when its request has succeeded, instead of CREATING until it runs.
	NoActionOnceCreated bool `json:"noActionOnceCreated,omitempty"`
	// TemplateDuration: the template's maxRunDuration wins over the request's.
	TemplateDuration bool `json:"templateDuration,omitempty"`
	// NameConflictFails: a name that another VM holds fails the request,
	// instead of making it wait.
	NameConflictFails bool `json:"nameConflictFails,omitempty"`
	// RefusePartialSuccess: v1 refuses the parameter returnPartialSuccess as unknown,
	// because its discovery document lacks it. The REST reference of v1 recommends it.
	RefusePartialSuccess bool `json:"refusePartialSuccess,omitempty"`
	// PartialUnasked: an aggregated list names the places that it does not reach even if
	// the call lacks returnPartialSuccess, instead of failing as a whole.
	PartialUnasked bool `json:"partialUnasked,omitempty"`
	// WarnOfAll: an aggregated list that does not reach a place carries a warning about
	// the whole list too.
	WarnOfAll bool `json:"warnOfAll,omitempty"`
}

// Values of Switches.TargetSizeAt other than "".
const (
	AtAccepted  = "ACCEPTED"
	AtSucceeded = "SUCCEEDED"
)

// filled is the options with their defaults in place.
func (o Options) filled() Options {
	if o.Project == "" {
		o.Project = "demo"
	}
	if len(o.Zones) == 0 {
		o.Zones = DefaultZones()
	}
	o.Zones = slices.Sorted(slices.Values(o.Zones))
	if o.Clock == nil {
		o.Clock = NewWallClock()
	}
	if o.AttemptInterval <= 0 {
		o.AttemptInterval = DefaultAttemptInterval
	}
	return o
}

// regionOf is the region of a zone: its name without the last part.
func regionOf(zone string) string {
	if i := strings.LastIndexByte(zone, '-'); i > 0 {
		return zone[:i]
	}
	return zone
}
