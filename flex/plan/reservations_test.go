package plan

import (
	"testing"
)

func TestFormerReservationsAreDeleted(t *testing.T) {
	in := situations(t, alphaConfig(t))
	in("a nodeset's", seen(reserved("slurmflex-alpha.rest-a3", "alpha-a3-0", noon)), "delete reservation slurmflex-alpha.rest-a3")
	in("that of another cluster stays", seen(reserved("slurmflex-beta.rest-a3", "alpha-a3-0", noon)))
}
