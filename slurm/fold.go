package slurm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Fold joins node names into one hostlist. The result is sorted, with trailing numbers in order of
// value, and without duplicates. Only the last number of a name becomes a range, so that every
// version of Slurm can read the result. Numbers padded to different widths get separate ranges.
// Expand returns the same names.
func Fold(names []string) string {
	hosts := make([]host, len(names))
	for i, name := range names {
		hosts[i] = splitHost(name)
	}
	slices.SortFunc(hosts, compareHosts)
	hosts = slices.Compact(hosts)

	var list strings.Builder
	for len(hosts) > 0 {
		n := 1
		for n < len(hosts) && hosts[n].prefix == hosts[0].prefix && hosts[n].digits != "" && hosts[0].digits != "" {
			n++
		}
		if list.Len() > 0 {
			list.WriteByte(',')
		}
		writeGroup(&list, hosts[:n])
		hosts = hosts[n:]
	}
	return list.String()
}

// host is a parsed node name; digits is its trailing number.
type host struct {
	prefix, digits string
	number         uint64
}

func splitHost(name string) host {
	end := len(name)
	for end > 0 && isDigit(name[end-1]) {
		end--
	}
	digits := name[end:]
	if digits == "" || len(digits) > maxHostDigits {
		return host{prefix: name}
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return host{prefix: name}
	}
	return host{prefix: name[:end], digits: digits, number: number}
}

func compareHosts(a, b host) int {
	return cmp.Or(cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.number, b.number), cmp.Compare(len(a.digits), len(b.digits)))
}

// writeGroup writes hosts that share a prefix.
func writeGroup(list *strings.Builder, hosts []host) {
	list.WriteString(hosts[0].prefix)
	if len(hosts) == 1 {
		list.WriteString(hosts[0].digits)
		return
	}
	separator := byte('[')
	for len(hosts) > 0 {
		n := 1
		for n < len(hosts) && follows(hosts[n-1], hosts[n], len(hosts[0].digits)) {
			n++
		}
		list.WriteByte(separator)
		separator = ','
		list.WriteString(hosts[0].digits)
		if n > 1 {
			list.WriteByte('-')
			list.WriteString(hosts[n-1].digits)
		}
		hosts = hosts[n:]
	}
	list.WriteByte(']')
}

// follows reports whether next can extend a range that ends in before, if the range is printed with
// at least width digits.
func follows(before, next host, width int) bool {
	return next.number == before.number+1 &&
		(len(next.digits) == width || len(next.digits) > width && next.digits[0] != '0')
}
