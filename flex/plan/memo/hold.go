package memo

import (
	"cmp"
	"regexp"
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

// The parts of names: seconds since 1970, and the ID of a job, an array task, or a component of a
// heterogeneous job.
const (
	timeForm    = `(0|[1-9][0-9]{0,17})`
	addressForm = `[1-9][0-9]*(?:[_.+](?:0|[1-9][0-9]*))?`
)

// The names of reservations without their clusters. Of the former ones, cold held nodes for a job that
// waited CONFIGURING, rest closed the nodeset with the name that follows, job was on warm machines that
// a job moved to, and salvage kept the remaining machines of a job that had lost others. Slurm's job IDs
// have up to eight digits.
var (
	leaseForm  = regexp.MustCompile(`^` + leasePart + timeForm + `$`)
	coverForm  = regexp.MustCompile(`^\` + coverPart + `(?:(cold|busy|warm)-)?` + timeForm + `$`)
	doorForm   = regexp.MustCompile(`^\` + doorPart + `(` + addressForm + `)-` + timeForm + `(?:-([0-9a-f]{8}))?(?:-[1-9][0-9]?)?$`)
	formerForm = regexp.MustCompile(`^\.(?:cold-([1-9][0-9]{0,8})(?:[_+](?:0|[1-9][0-9]*))?-` + timeForm + `|rest-.+|(?:job|salvage)-([1-9][0-9]{0,8}))$`)
)

// madeAt returns the time that timeForm has matched.
func madeAt(digits string) time.Time {
	seconds, _ := strconv.ParseInt(digits, 10, 64)
	return time.Unix(seconds, 0).UTC()
}

// ParseHold parses the name of a reservation. The kind is NoHold unless the name is exactly what
// one of the functions above returns for the cluster, or what an earlier version made.
func ParseHold(cluster, reservation string) Hold {
	rest, ok := strings.CutPrefix(reservation, "slurmflex-"+cluster)
	if !ok {
		return Hold{}
	}
	if lease := leaseForm.FindStringSubmatch(rest); lease != nil {
		return Hold{Kind: LeaseHold, At: madeAt(lease[1])}
	}
	if cover := coverForm.FindStringSubmatch(rest); cover != nil { // earlier versions had one cover
		return Hold{Kind: CoverHold, At: madeAt(cover[2]), Over: cmp.Or(Cover(cover[1]), ColdCover)}
	}
	if door := doorForm.FindStringSubmatch(rest); door != nil {
		return Hold{Kind: DoorHold, At: madeAt(door[2]), Address: strings.Replace(door[1], ".", "+", 1), Digest: door[3]}
	}
	if former := formerForm.FindStringSubmatch(rest); former != nil {
		job, _ := strconv.ParseUint(former[1]+former[3], 10, 32)
		return Hold{Kind: FormerHold, Job: uint32(job)}
	}
	return Hold{}
}
