package slurm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Node is one record of scontrol show nodes.
type Node struct {
	Name       string
	State      State
	Partitions []string // empty if the node is in no partition
	Reason     string   // why the node is down, drained or powered down, without " [user@time]"
	ReasonBy   string   // the user who set the reason; empty if none or unknown
	Comment    string
	Extra      string // free text, like Comment; slurmctld keeps both when a node is powered down
	Addr       string // where slurmctld finds its slurmd, a host name or an IP address; empty if unknown
	Gres       string // such as gpu:h100:8(S:0-1); empty for none
	Features   []string
	CPUs       int // 0 if unknown
	Memory     int // MiB; 0 if unknown
	// BootTime and LastBusyTime are zero when Slurm does not know them.
	BootTime, LastBusyTime time.Time
}

// ParseNodes parses the output of scontrol show nodes -o under TZ=UTC. Unreadable rows are returned
// as the error Unread, together with the nodes. The nodes include an unreadable row's name, if
// known, with an unknown state. Empty output, or output without a node record, is another error and
// returns no nodes.
//
// Free text cannot forge another field. OS and Version, which the node itself reports, precede "
// RealMemory=". That key must occur exactly once in a line. Every field except Gres, Features, CPUs,
// Addr, Reason, Comment and Extra is read between that key and the free text at the end of the line. With
// MCSPlugin=mcs/label or mcs/account, a job's owner writes MCS_label, which precedes the partitions
// and the times; see isTail. In the free text, Reason extends to the last " [user@time]" before a
// known key, so that a reason cannot forge a comment.
func ParseNodes(out []byte) ([]Node, error) {
	nodes, err := readShown("scontrol show nodes", out, "No nodes in the system", "NodeName", parseNode)
	var unread Unread
	if errors.As(err, &unread) {
		named := map[string]bool{}
		for _, row := range unread {
			if row.Name != "" && !named[row.Name] {
				named[row.Name] = true
				nodes = append(nodes, Node{Name: row.Name})
			}
		}
	}
	return nodes, err
}

// parseNode parses one line. The order of the keys is that of Slurm 22.05 to 26.05
// (src/api/node_info.c, slurm_sprint_node_table).
func parseNode(line string) (node Node, known UnreadRow, err error) {
	known = UnreadRow{Kind: NodeRow}
	name := wordAfter(line, "NodeName")
	if name == "" || !strings.HasPrefix(line, "NodeName=") {
		return Node{}, known, errors.New("not a node record")
	}
	node.Name, known.Name = name, name
	if count := countKey(line, "RealMemory"); count != 1 {
		return Node{}, known, fmt.Errorf("it has RealMemory= %d times, not once", count)
	}
	before, fields, _ := cutKey(line, "RealMemory")
	if gres := wordAfter(before, "Gres"); gres != "(null)" {
		node.Gres = gres
	}
	node.Features, node.CPUs = splitList(wordAfter(before, "AvailableFeatures")), numberOr0(wordAfter(before, "CPUTot"))
	memory, _, _ := strings.Cut(fields, " ")
	node.Memory = numberOr0(memory)
	if addr := wordAfter(before, "NodeAddr"); addr != "(null)" {
		node.Addr = addr
	}

	state := wordAfter(fields, "State")
	if state == "" {
		return Node{}, known, errors.New("without State=")
	}
	node.State = ParseState(state)
	beforeTimes, _, found := cutKey(fields, "BootTime")
	if !found {
		return Node{}, known, errors.New("without BootTime=")
	}
	if !isTail(beforeTimes, fields[len(beforeTimes):]) {
		return Node{}, known, errors.New("its MCS_label holds other fields")
	}
	node.Partitions = splitList(wordAfter(beforeTimes, "Partitions"))

	fields = fields[len(beforeTimes):]
	if node.BootTime, err = timeOf(fields, "BootTime"); err != nil {
		return Node{}, known, err
	}
	if node.LastBusyTime, err = timeOf(fields, "LastBusyTime"); err != nil {
		return Node{}, known, err
	}
	var rest string
	node.Reason, node.ReasonBy, rest = cutReason(fields)
	node.Comment = freeText(rest, "Comment", "Extra", "InstanceId", "InstanceType", "ReservationName")
	node.Extra = freeText(rest, "Extra", "InstanceId", "InstanceType", "ReservationName")
	return node, known, nil
}

// isTail reports whether a node's partitions and times come from Slurm, and not from the MCS label
// before them. It checks that SlurmdStartTime follows BootTime and occurs once.
func isTail(beforeTimes, times string) bool {
	_, behind, _ := cutKey(times, "BootTime")
	_, behind, _ = strings.Cut(behind, " ")
	starts := countKey(times, "SlurmdStartTime")
	return countKey(beforeTimes, "Partitions") <= 1 && (starts == 0 || starts == 1 && strings.HasPrefix(behind, "SlurmdStartTime="))
}

// reasonStamp matches the end of a reason's first line and the text that may follow it: nothing,
// the second line of the reason, or one of the keys after the reason.
var reasonStamp = regexp.MustCompile(` \[(\S+)@(?:\d{4,12}-\d\d-\d\dT\d\d:\d\d:\d\d|None|Unknown)\]` +
	`($| {8}| (?:Comment|Extra|InstanceId|InstanceType|ReservationName)=)`)

// noUser are the names that Slurm prints if no user set the reason and Slurm itself did
// (POWER_DOWN_ASAP). Slurm 26.05 prints the bare uid (its NO_VAL); earlier versions print "nobody".
var noUser = []string{"4294967294", "nobody"}

// cutReason returns the reason at the end of a node record, and the text after it. A reason without
// a stamp extends to the end of the line.
func cutReason(line string) (reason, by, rest string) {
	_, text, found := cutKey(line, "Reason")
	if !found {
		return "", "", line
	}
	stamps := reasonStamp.FindAllStringSubmatchIndex(text, -1)
	if stamps == nil {
		return strings.TrimSpace(text), "", ""
	}
	stamp := stamps[len(stamps)-1]
	reason, by, rest = text[:stamp[0]], text[stamp[2]:stamp[3]], text[stamp[4]:]
	if slices.Contains(noUser, by) {
		by = ""
	}
	more := cutAtKeys(rest, "Comment", "Extra", "InstanceId", "InstanceType", "ReservationName")
	for line := range strings.SplitSeq(more, "        ") {
		if line = strings.TrimSpace(line); line != "" {
			reason += " " + line
		}
	}
	return reason, by, rest
}
