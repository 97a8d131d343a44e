package memo

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// holdKind is the purpose of a reservation.
type holdKind uint8

// The kinds.
const (
	NoHold     holdKind = iota // a reservation that slurmflex did not make
	LeaseHold                  // keeps jobs off nodes once their leases end
	CoverHold                  // closes nodes, so that jobs wait PENDING
	DoorHold                   // holds the nodes of machines that are requested for a job that waits PENDING
	FormerHold                 // a kind that only earlier versions made
)

// Hold contains the parts of a reservation's name.
type Hold struct {
	Kind holdKind
	// LeaseHold: the end of the leases; CoverHold, DoorHold: when the reservation was made.
	At      time.Time
	Job     uint32 // FormerHold: the job that used the reservation, or 0
	Address string // DoorHold: the job's address; see slurm.Job.Address
	Digest  string // DoorHold: slurm.Job.Digest of the job then; empty in names of earlier versions
	Over    Cover  // CoverHold: which nodes it closes
}

// Cover is which nodes a cover closes, and when.
type Cover string

// The covers.
const (
	ColdCover Cover = "cold" // nodes without a machine, until the moment for which Slurm plans jobs there
	BusyCover Cover = "busy" // nodes whose machine is in use, is booting or is requested
	WarmCover Cover = "warm" // idle machines, from the moment on for which Slurm plans jobs on cold nodes
)

// The prefixes of the reservations' names, after the cluster's name. A cluster name contains no
// dot.
const (
	leasePart = "-"
	coverPart = ".cover-"
	doorPart  = ".door-"
	coldPart  = ".cold-" // FormerHold: held nodes for a job that waited CONFIGURING
	restPart  = ".rest-" // FormerHold: closed the nodeset with the name that follows
	movePart  = ".job-"  // FormerHold: the reservation on warm machines that a job moved to
	// FormerHold: kept the remaining machines of a job that had lost others.
	salvagePart = ".salvage-"
)

func holdName(cluster, part, rest string) string { return "slurmflex-" + cluster + part + rest }

// Reservation returns the name of the cluster's reservation for leases that end at that time.
func Reservation(cluster string, end time.Time) string {
	return holdName(cluster, leasePart, strconv.FormatInt(end.Unix(), 10))
}

// CoverReservation returns the name of a reservation, made at that time, that closes nodes.
func CoverReservation(cluster string, over Cover, made time.Time) string {
	return holdName(cluster, coverPart, string(over)+"-"+strconv.FormatInt(made.Unix(), 10))
}

// CoverAbandoned is the grace period after which a cover that was not extended counts as abandoned
// by its daemon. It is added to the interval between passes.
const CoverAbandoned = 3 * time.Minute

// CoverGrace is the time from a daemon's last pass until Slurm deletes its covers, and allocates
// nodes without a machine itself.
const CoverGrace = 6 * time.Minute

// CoverRaised returns the earliest time at which a daemon can last have extended a cover that Slurm
// deletes at end.
func CoverRaised(end time.Time) time.Time { return end.Add(-CoverGrace - time.Minute) }

// DoorReservation returns the name of a reservation, made at that time, for the job with that
// address. A dot stands for the plus in the address of a component of a heterogeneous job.
func DoorReservation(cluster, address string, made time.Time) string {
	return holdName(cluster, doorPart, strings.Replace(address, "+", ".", 1)+"-"+strconv.FormatInt(made.Unix(), 10))
}

// DoorFor returns the name of a reservation for a job with that digest, which must have eight
// hexadecimal digits; see slurm.Job.Digest.
func DoorFor(door, digest string) string { return door + "-" + digest }

// FurtherDoor returns the name of another reservation for the job of the first one, made in the
// same second. number must be 1 to 99.
func FurtherDoor(first string, number int) string { return first + "-" + strconv.Itoa(number) }

// parseTime parses seconds since 1970 in the format of the functions above.
func parseTime(digits string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != digits || seconds < 0 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// jobAddress matches the ID of a job, an array task, or a component of a heterogeneous job.
var jobAddress = regexp.MustCompile(`^[1-9][0-9]*([_+](0|[1-9][0-9]*))?$`)

// doorEnd matches the end of a door's name: its time, perhaps the job's digest, and the number of a
// further door.
var doorEnd = regexp.MustCompile(`^([0-9]+)(?:-([0-9a-f]{8}))?(?:-[1-9][0-9]?)?$`)

// ParseHold parses the name of a reservation. The kind is NoHold unless the name is exactly what
// one of the functions above returns for the cluster.
func ParseHold(cluster, reservation string) Hold {
	rest, ok := strings.CutPrefix(reservation, "slurmflex-"+cluster)
	if !ok {
		return Hold{}
	}
	if digits, ok := strings.CutPrefix(rest, leasePart); ok {
		if at, ok := parseTime(digits); ok {
			return Hold{Kind: LeaseHold, At: at}
		}
		return Hold{}
	}
	if digits, ok := strings.CutPrefix(rest, coverPart); ok {
		over, text, named := strings.Cut(digits, "-")
		if !named { // earlier versions had one cover
			over, text = string(ColdCover), digits
		}
		if at, ok := parseTime(text); ok && slices.Contains([]Cover{ColdCover, BusyCover, WarmCover}, Cover(over)) {
			return Hold{Kind: CoverHold, At: at, Over: Cover(over)}
		}
		return Hold{}
	}
	if text, ok := strings.CutPrefix(rest, doorPart); ok {
		address, rest, _ := strings.Cut(text, "-")
		address = strings.Replace(address, ".", "+", 1)
		if end := doorEnd.FindStringSubmatch(rest); end != nil && jobAddress.MatchString(address) {
			if at, ok := parseTime(end[1]); ok {
				return Hold{Kind: DoorHold, Address: address, At: at, Digest: end[2]}
			}
		}
		return Hold{}
	}
	if text, ok := strings.CutPrefix(rest, coldPart); ok {
		address, digits, _ := strings.Cut(text, "-")
		if _, ok := parseTime(digits); ok && jobAddress.MatchString(address) {
			job, _, _ := strings.Cut(address, "_")
			id, _ := strconv.ParseUint(job, 10, 32)
			return Hold{Kind: FormerHold, Job: uint32(id)}
		}
		return Hold{}
	}
	if nodeset, ok := strings.CutPrefix(rest, restPart); ok && nodeset != "" {
		return Hold{Kind: FormerHold}
	}
	for _, part := range []string{movePart, salvagePart} {
		digits, ok := strings.CutPrefix(rest, part)
		if !ok {
			continue
		}
		if id, err := strconv.ParseUint(digits, 10, 32); err == nil && id != 0 && strconv.FormatUint(id, 10) == digits {
			return Hold{Kind: FormerHold, Job: uint32(id)}
		}
	}
	return Hold{}
}
