package memo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Names come from the cluster, the nodeset and the job (or node), never from
// chance, so that a second run of the same pass finds what the first one made.

// JobGroup is the name of the group for a job's nodes of one nodeset. A job of
// more nodes than fit into one group has further parts, counted from 1.
func JobGroup(cluster, nodeset string, job uint32, part int) string {
	name := cluster + "-" + nodeset + "-job-" + strconv.FormatUint(uint64(job), 10)
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// ArrayGroup is the name of a group that tasks of an array share in one nodeset. An
// array of more nodes than fit into one group has further parts, counted from 1.
func ArrayGroup(cluster, nodeset string, array uint32, part int) string {
	name := fmt.Sprintf("%s-%s-arr-%d", cluster, nodeset, array)
	if part > 0 {
		name += "-p" + strconv.Itoa(part)
	}
	return name
}

// NodeGroup is the name of the group for one node that is obtained by itself.
func NodeGroup(cluster, nodeset string, index int) string {
	return fmt.Sprintf("%s-%s-node-%d", cluster, nodeset, index)
}

const replacementMark = "-r"

// Replacement is the name of the n-th group that replaces the one of that name.
func Replacement(group string, n int) string { return group + replacementMark + strconv.Itoa(n) }

// Replaced is the name of the group that one of this name replaces, or the name itself.
func Replaced(group string) string {
	if at := strings.LastIndex(group, replacementMark); at >= 0 {
		if _, err := strconv.ParseUint(group[at+len(replacementMark):], 10, 0); err == nil {
			return group[:at]
		}
	}
	return group
}

// NextAttempt names the request that follows those of these names: a1, a2, …
// Compute keeps finished requests for 14 days, so no name comes twice while it
// matters; if the record is gone, so is the conflict.
func NextAttempt(requests []string) string {
	last := 0
	for _, name := range requests {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "a")); err == nil {
			last = max(last, n)
		}
	}
	return "a" + strconv.Itoa(last+1)
}

func reservationPrefix(cluster string) string { return "slurmflex-" + cluster + "-" }

// Reservation is the name of the cluster's reservation for leases that end at that time.
func Reservation(cluster string, end time.Time) string {
	return reservationPrefix(cluster) + strconv.FormatInt(end.Unix(), 10)
}

// ParseReservation reads the end of the leases that a reservation stands for out of its
// name. It reports false for a reservation that is not one of the cluster's.
func ParseReservation(cluster, reservation string) (end time.Time, ours bool) {
	digits, ok := strings.CutPrefix(reservation, reservationPrefix(cluster))
	if !ok {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(seconds, 10) != digits || seconds < 0 {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// IsReservation reports whether a reservation of that name is one of the cluster's that
// stand for ends of leases or close a nodeset.
func IsReservation(cluster, name string) bool {
	_, ends := ParseReservation(cluster, name)
	_, rests := ParseRest(cluster, name)
	return ends || rests
}

// IsOwn reports whether a reservation of that name is one of the cluster's, of any kind.
func IsOwn(cluster, name string) bool {
	_, moves := ParseMove(cluster, name)
	_, salvages := ParseSalvage(cluster, name)
	return moves || salvages || IsReservation(cluster, name)
}

// RestReservation is the name of the reservation that closes a nodeset for a while.
func RestReservation(cluster, nodeset string) string { return restPrefix(cluster) + nodeset }

func restPrefix(cluster string) string { return "slurmflex-" + cluster + ".rest-" }

// ParseRest reads the nodeset out of the name of such a reservation. It reports false for a
// reservation that is not one of the cluster's of that kind.
func ParseRest(cluster, reservation string) (nodeset string, ours bool) {
	nodeset, ours = strings.CutPrefix(reservation, restPrefix(cluster))
	return nodeset, ours && nodeset != ""
}

// MoveReservation is the name of the reservation in which a job moves to kept machines. Its
// dot is in no cluster's name.
func MoveReservation(cluster string, job uint32) string {
	return movePrefix(cluster) + strconv.FormatUint(uint64(job), 10)
}

func movePrefix(cluster string) string { return "slurmflex-" + cluster + ".job-" }

// SalvageReservation is the name of the reservation that holds machines for a job that has
// lost others.
func SalvageReservation(cluster string, job uint32) string {
	return salvagePrefix(cluster) + strconv.FormatUint(uint64(job), 10)
}

func salvagePrefix(cluster string) string { return "slurmflex-" + cluster + ".salvage-" }

// ParseSalvage reads the job out of the name of such a reservation. It reports false for
// a reservation that is not one of the cluster's of that kind.
func ParseSalvage(cluster, reservation string) (job uint32, ours bool) {
	return parseJobOf(salvagePrefix(cluster), reservation)
}

// ParseMove reads the job that moves out of the name of its reservation. It reports false
// for a reservation that is not one of the cluster's of that kind.
func ParseMove(cluster, reservation string) (job uint32, ours bool) {
	return parseJobOf(movePrefix(cluster), reservation)
}

func parseJobOf(prefix, reservation string) (job uint32, ours bool) {
	digits, ok := strings.CutPrefix(reservation, prefix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || strconv.FormatUint(id, 10) != digits || id == 0 {
		return 0, false
	}
	return uint32(id), true
}
