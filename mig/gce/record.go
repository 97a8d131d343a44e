package gce

import (
	"fmt"
	"strings"

	rest "google.golang.org/api/compute/v1"

	"slurmflex/mig"
)

// faultsIn returns the faults in the error list of an operation or a resize request.
func faultsIn(list *rest.OperationError) []fault {
	if list == nil {
		return nil
	}
	var faults []fault
	for _, one := range given(list.Errors) {
		f := fault{code: one.Code, message: one.Message}
		for _, d := range given(one.ErrorDetails) {
			f.add(d)
		}
		faults = append(faults, f)
	}
	return faults
}

// add adds the parts of a detail that help the reader of the error, and its quota.
func (f *fault) add(d *rest.OperationErrorErrorsErrorDetails) {
	if info := d.ErrorInfo; info != nil {
		if info.Reason != "" {
			f.details = append(f.details, "reason="+info.Reason)
		}
		f.details = append(f.details, pairs(info.Metadatas)...)
	}
	if q := d.QuotaInfo; q != nil {
		f.details = append(f.details, fmt.Sprintf("quota %s=%v", q.LimitName, q.Limit))
		f.details = append(f.details, pairs(q.Dimensions)...)
		_, metric, _ := strings.Cut(q.MetricName, "/") // regions show this part of it, in capitals
		f.quota = mig.UsedUp{Metric: strings.ToUpper(metric), Limit: q.Limit, Region: q.Dimensions["region"]}
	}
}
