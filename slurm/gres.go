package slurm

import (
	"strconv"
	"strings"
)

// Gres is generic resources of one kind: gpu:h100:8 are eight GPUs of type h100.
type Gres struct {
	Name  string // such as gpu; empty if the text is not understood
	Type  string // empty: without a type
	Count int
}

// String returns the text for slurm.conf: gpu:h100:8; empty without any.
func (g Gres) String() string {
	switch {
	case g.Count == 0:
		return ""
	case g.Type == "":
		return g.Name + ":" + strconv.Itoa(g.Count)
	}
	return g.Name + ":" + g.Type + ":" + strconv.Itoa(g.Count)
}

// ParseGres parses generic resources as in slurm.conf (gpu:h100:8,nic:2), of a node
// (gpu:h100:8(S:0-1)), or requested by a job (gres/gpu:8; on 22.05 gres:gpu:8). Slurm omits the number 1.
func ParseGres(text string) (all []Gres) {
	if notNull(text) == "" {
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		item, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(item, "gres/"), "gres:"), "(")
		all = append(all, gresOf(strings.Split(item, ":")))
	}
	return all
}

// gresOf parses name, name:count, name:type or name:type:count.
func gresOf(fields []string) Gres {
	g := Gres{Name: fields[0], Count: 1}
	if last := len(fields) - 1; last > 0 && fields[last] != "" && isDigit(fields[last][0]) {
		count, err := strconv.ParseUint(fields[last], 10, 31)
		if err != nil {
			return Gres{}
		}
		g.Count, fields = int(count), fields[:last]
	}
	switch len(fields) {
	case 1:
		return g
	case 2:
		g.Type = fields[1]
		return g
	}
	return Gres{}
}
