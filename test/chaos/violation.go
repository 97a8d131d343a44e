package chaos

import (
	"fmt"
	"time"
)

// kind is what an invariant guards against.
type kind string

// The kinds, in the order of the summary.
const (
	overScale     kind = "over-scale"
	orphan        kind = "orphans"
	wrongKill     kind = "wrong kills"
	lostJob       kind = "lost jobs"
	foreignChange kind = "foreign changes"
	stall         kind = "stalls"
)

func kinds() []kind { return []kind{overScale, orphan, wrongKill, lostJob, foreignChange, stall} }

// violation is an invariant that did not hold.
type violation struct {
	kind kind
	at   time.Duration // since the day began
	text string        // a sentence
}

func (v violation) String() string { return fmt.Sprintf("%s: %s %s", v.kind, clock(v.at), v.text) }
