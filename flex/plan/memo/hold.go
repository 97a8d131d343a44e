package memo

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// HoldKind is the purpose of a reservation.
type HoldKind uint8

// The kinds.
const (
	NoHold     HoldKind = iota // a reservation that is not ours
	LeaseHold                  // keeps jobs off nodes from the end of their leases on
	CoverHold                  // closes powered-down nodes, so that jobs wait PENDING
	DoorHold                   // holds the nodes of machines that are requested for a job that waits PENDING
	FormerHold                 // of a kind that earlier versions made
)

// Hold contains the parts of a reservation's name.
type Hold struct {
	Kind    HoldKind
	At      time.Time // LeaseHold: the end of the leases; CoverHold, DoorHold: when it was made
	Job     uint32    // FormerHold: of the job that used it, or 0
	Address string    // DoorHold: of the job; see slurm.Job.Address
	Cold    bool      // DoorHold: the job waits CONFIGURING on nodes of the door; no machines are requested before
}

// The prefixes of the reservations' names, after the cluster's own. The name of a cluster has no dot.
const (
	leasePart   = "-"
	coverPart   = ".cover-"
	doorPart    = ".door-"
	coldPart    = ".cold-"
	restPart    = ".rest-"    // FormerHold: closed a nodeset, whose name follows
	movePart    = ".job-"     // FormerHold: a job moved to warm machines in it
	salvagePart = ".salvage-" // FormerHold: held machines for a job that had lost others
)

func holdName(cluster, part, rest string) string { return "slurmflex-" + cluster + part + rest }

// Reservation returns the name of the cluster's reservation for leases that end at that time.
func Reservation(cluster string, end time.Time) string {
	return holdName(cluster, leasePart, strconv.FormatInt(end.Unix(), 10))
}

// CoverReservation returns the name of a reservation, made at that time, that closes powered-down
// nodes.
func CoverReservation(cluster string, made time.Time) string {
	return holdName(cluster, coverPart, strconv.FormatInt(made.Unix(), 10))
}

// CoverAbandoned is after how long without being raised, beside the interval between passes, a cover
// has no daemon.
const CoverAbandoned = 3 * time.Minute

// CoverRaised returns when a daemon last raised a cover, at the earliest: the one that Slurm deletes at
// end, pending_grace after the daemon's last pass.
func CoverRaised(end time.Time, grace time.Duration) time.Time { return end.Add(-grace - time.Minute) }

// DoorReservation returns the name of a reservation, made at that time, for the job with that
// address.
func DoorReservation(cluster, address string, made time.Time) string {
	return holdName(cluster, doorPart, address+"-"+strconv.FormatInt(made.Unix(), 10))
}

// FurtherDoor returns the name of another reservation for the job of the first one, made in the same
// second. number must be 1 to 99.
func FurtherDoor(first string, number int) string { return first + "-" + strconv.Itoa(number) }

// ColdReservation returns the name of a reservation, made at that time, for the job with that address,
// which waits CONFIGURING there.
func ColdReservation(cluster, address string, made time.Time) string {
	return holdName(cluster, coldPart, address+"-"+strconv.FormatInt(made.Unix(), 10))
}

// parseTime parses seconds since 1970 that are written as the functions above write them.
func parseTime(digits string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != digits || seconds < 0 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// jobAddress is a job's id, or a task of an array.
var jobAddress = regexp.MustCompile(`^[1-9][0-9]*(_(0|[1-9][0-9]*))?$`)

// doorNumber is the number in the name of a job's further door.
var doorNumber = regexp.MustCompile(`^[1-9][0-9]?$`)

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
		if at, ok := parseTime(digits); ok {
			return Hold{Kind: CoverHold, At: at}
		}
		return Hold{}
	}
	for _, part := range []string{doorPart, coldPart} {
		text, ok := strings.CutPrefix(rest, part)
		if !ok {
			continue
		}
		address, rest, _ := strings.Cut(text, "-")
		digits, number, numbered := strings.Cut(rest, "-")
		at, ok := parseTime(digits)
		if ok && jobAddress.MatchString(address) && (!numbered || part == doorPart && doorNumber.MatchString(number)) {
			return Hold{Kind: DoorHold, Address: address, At: at, Cold: part == coldPart}
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
