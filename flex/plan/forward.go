package plan

import "slurmflex/flex/plan/scene"

// IsAbandoned is scene.IsAbandoned.
var IsAbandoned = scene.IsAbandoned
