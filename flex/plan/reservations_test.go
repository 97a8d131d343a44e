package plan

import (
	"testing"
)

func TestFormerReservationsAreDeleted(t *testing.T) {
	in := situations(t, alphaConfig)
	in("a nodeset's", seen(reserved("slurmflex-alpha.rest-a3", "alpha-a3-0", noon)), "delete reservation slurmflex-alpha.rest-a3")
	in("a job's, which no longer names it", seen(reserved("slurmflex-alpha.job-8", "alpha-a3-0", noon)), "delete reservation slurmflex-alpha.job-8")
	in("that of a job that lost a machine", seen(reserved("slurmflex-alpha.salvage-8", "alpha-a3-0", noon)), "delete reservation slurmflex-alpha.salvage-8")
	in("that of another cluster stays", seen(reserved("slurmflex-beta.rest-a3", "alpha-a3-0", noon)))
}
