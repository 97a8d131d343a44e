package scontrol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"slurmflex/slurm"
)

const (
	// maxBatchNodes and maxBatchBytes limit the nodes of one update. slurmctld holds its locks
	// during the whole update, and one argument of a program may have at most 131,071 bytes.
	maxBatchNodes = 500
	maxBatchBytes = 100_000

	// maxText is the maximum length of a reason or a comment, in bytes.
	maxText = 500
)

// stateWord matches a valid State.
var stateWord = regexp.MustCompile(`^[a-z_]+$`)

// arguments returns the change as arguments of scontrol.
func arguments(change slurm.NodeChange) ([]string, error) {
	var args []string
	if change.State != "" {
		if !stateWord.MatchString(change.State) {
			return nil, fmt.Errorf("state %q is not a word", plain(change.State, maxCall))
		}
		args = append(args, "state="+change.State)
	}
	if change.Reason != "" {
		args = append(args, "reason="+plain(change.Reason, maxText))
	}
	if change.Comment != nil {
		args = append(args, "comment="+plain(*change.Comment, maxText))
	}
	if change.Extra != nil {
		args = append(args, "extra="+plain(*change.Extra, maxText))
	}
	if args == nil {
		return nil, errors.New("nothing to change")
	}
	return args, nil
}

// UpdateNodes changes nodes, in batches of at most 500. It tries all batches, even if one fails. If
// Slurm rejects some nodes of a batch, it still changes the others. Without names, UpdateNodes does
// nothing. Control characters in texts become spaces, and texts are cut to 500 bytes.
func (c *Client) UpdateNodes(ctx context.Context, names []string, change slurm.NodeChange) error {
	changes, err := arguments(change)
	if err != nil {
		return fmt.Errorf("update nodes: %w", err)
	}
	hostlists, err := batches(names)
	if err != nil {
		return fmt.Errorf("update nodes: %w", err)
	}
	var first error
	failed := 0
	for _, hostlist := range hostlists {
		args := slices.Concat([]string{"update", "nodename=" + hostlist}, changes)
		if _, err := c.run(ctx, "scontrol", args...); err != nil {
			failed++
			first = cmp.Or(first, err)
		}
	}
	if failed > 1 {
		return fmt.Errorf("%w (%d of %d updates failed)", first, failed, len(hostlists))
	}
	return first
}

// batches folds names into hostlists that are small enough for one update.
func batches(names []string) ([]string, error) {
	if err := checkNodeNames(names); err != nil {
		return nil, err
	}
	sorted, err := slurm.Expand(slurm.Fold(names))
	if err != nil {
		return nil, err
	}
	var hostlists []string
	for len(sorted) > 0 {
		n, size := 0, 0
		for n < min(len(sorted), maxBatchNodes) && size+len(sorted[n]) < maxBatchBytes {
			size += len(sorted[n]) + 1
			n++
		}
		hostlists = append(hostlists, slurm.Fold(sorted[:n]))
		sorted = sorted[n:]
	}
	return hostlists, nil
}

// checkNodeNames checks that each name is the name of exactly one node.
func checkNodeNames(names []string) error {
	for _, name := range names {
		hosts, err := slurm.Expand(name)
		if err != nil {
			return err
		}
		// scontrol takes ALL for all nodes of the cluster.
		if len(hosts) != 1 || hosts[0] != name || strings.EqualFold(name, "ALL") {
			return fmt.Errorf("%q is not the name of one node", plain(name, maxCall))
		}
	}
	return nil
}

// plain turns text into one line of at most that many bytes. Control characters, line separators
// and invalid UTF-8 become spaces.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	end := most - len(ellipsis)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
