package fakegce

import (
	"slices"
	"strings"
	"time"
)

// Options describes the world that the fake starts with. The zero value is a project "demo"
// with two regions where everything is instant and capacity is unlimited.
type Options struct {
	Project string   // default "demo"
	Zones   []string // such as us-central1-a; their regions are derived; default DefaultZones
	Clock   Clock    // default: the wall clock

	OperationTime   time.Duration // from an operation's start to DONE
	QueueTime       time.Duration // from ACCEPTED to the first attempt to find capacity
	AttemptInterval time.Duration // between attempts; 0 is DefaultAttemptInterval
	BootTime        time.Duration // PROVISIONING to RUNNING; STAGING and SUCCEEDED are halfway
	DeleteTime      time.Duration // from STOPPING to deleted

	PageLimit int    // maximum results per page, even with a larger maxResults; 0: no limit
	Token     string // that calls must carry: Authorization: Bearer TOKEN; AnyToken: whichever; "": they need none

	// OnBoot is called when an instance enters RUNNING. OnDelete is called when an instance
	// leaves RUNNING, because it stops or is deleted; OnBoot has always been called before.
	// Hooks run one at a time, in the order of events, and may call the server.
	OnBoot, OnDelete func(Instance)

	Switches Switches
}

// DefaultAttemptInterval is the time between a queued request's attempts.
const DefaultAttemptInterval = 30 * time.Second

// DefaultZones returns the zones used when Options names none.
func DefaultZones() []string {
	return []string{
		"us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f",
		"europe-west4-a", "europe-west4-b", "europe-west4-c",
	}
}

// Switches select how the fake behaves where Google's behaviour is undocumented. The zero
// value is what the evidence favours.
type Switches struct {
	// TargetSizeAt is the moment when a resize request raises the group's targetSize: at once
	// (""), on "ACCEPTED", or only on "SUCCEEDED".
	TargetSizeAt string
	// ExpiryKeepsTargetSize: the end of a lease does not change targetSize.
	ExpiryKeepsTargetSize bool
	// LostInstancesLeave: an instance deleted without its group's knowledge leaves the group,
	// instead of remaining a member without a VM.
	LostInstancesLeave bool
	// QueuedDeletable: deleteInstances may name instances that a resize request still waits
	// for. This cancels the request.
	QueuedDeletable bool
	// CancelWhileCreating: a request can also be cancelled in CREATING.
	CancelWhileCreating bool
	// LateRefusals: a call that the state forbids (cancel or delete of a request in the wrong
	// state, a duplicate request name) returns an operation that fails, instead of an error
	// status.
	LateRefusals bool
	// RequestErrorStatus: failed operations on resize requests also carry httpErrorStatusCode.
	RequestErrorStatus bool
	// ForgetRefused: a request that fails validation leaves no record.
	ForgetRefused bool
	// PendingInstances: lists show the instances that a queued request waits for as PENDING.
	// Compute's page "Instance life cycle" documents this for flex-start instances of groups,
	// but does not mention resize requests.
	PendingInstances bool
	// NoStaging: instances change from PROVISIONING directly to RUNNING.
	NoStaging bool
	// NoActionOnceCreated: an instance's currentAction is NONE as soon as its request has
	// succeeded, instead of CREATING until the instance runs.
	NoActionOnceCreated bool
	// NameConflictFails: a name in use by another VM fails the request, instead of making it
	// wait.
	NameConflictFails bool
}

// Values of Switches.TargetSizeAt other than "".
const (
	AtAccepted  = "ACCEPTED"
	AtSucceeded = "SUCCEEDED"
)

// filled returns the options with defaults filled in.
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

// regionOf returns the region of a zone: the zone's name without its last part.
func regionOf(zone string) string {
	if i := strings.LastIndexByte(zone, '-'); i > 0 {
		return zone[:i]
	}
	return zone
}
