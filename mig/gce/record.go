package gce

import (
	"fmt"
	"strings"

	"cloud.google.com/go/compute/apiv1/computepb"

	"slurmflex/mig"
)

// record is the error list of an operation or a resize request.
type record struct {
	Errors []recorded `json:"errors"`
}

// recorded is one error of a record.
type recorded struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details []detail `json:"errorDetails"`
}

// detail is a detail of an error. Only one of its two fields is set.
type detail struct {
	Info struct {
		Reason    string            `json:"reason"`
		Metadatas map[string]string `json:"metadatas"`
	} `json:"errorInfo"`
	Quota *exceeded `json:"quotaInfo"`
}

// exceeded is a used-up quota.
type exceeded struct {
	MetricName string            `json:"metricName"`
	LimitName  string            `json:"limitName"`
	Limit      float64           `json:"limit"`
	Dimensions map[string]string `json:"dimensions"`
}

// recordOf returns the record of an operation.
func recordOf(e *computepb.Error) (r record) {
	for _, one := range e.GetErrors() {
		r.Errors = append(r.Errors, recorded{Code: one.GetCode(), Message: one.GetMessage()})
		of := &r.Errors[len(r.Errors)-1]
		for _, d := range one.GetErrorDetails() {
			var has detail
			has.Info.Reason, has.Info.Metadatas = d.GetErrorInfo().GetReason(), d.GetErrorInfo().GetMetadatas()
			if q := d.GetQuotaInfo(); q != nil {
				has.Quota = &exceeded{q.GetMetricName(), q.GetLimitName(), q.GetLimit(), q.GetDimensions()}
			}
			of.Details = append(of.Details, has)
		}
	}
	return r
}

// faults returns the faults in the record.
func (r record) faults() []fault {
	var faults []fault
	for _, one := range r.Errors {
		f := fault{code: one.Code, message: one.Message}
		for _, d := range one.Details {
			f.details = append(f.details, d.texts()...)
			if d.Quota != nil {
				f.quota = d.Quota.usedUp()
			}
		}
		faults = append(faults, f)
	}
	return faults
}

// texts returns the parts of a detail that help the reader of the error.
func (d detail) texts() []string {
	var texts []string
	if d.Info.Reason != "" {
		texts = append(texts, "reason="+d.Info.Reason)
	}
	texts = append(texts, pairs(d.Info.Metadatas)...)
	if d.Quota != nil {
		texts = append(texts, fmt.Sprintf("quota %s=%v", d.Quota.LimitName, d.Quota.Limit))
		texts = append(texts, pairs(d.Quota.Dimensions)...)
	}
	return texts
}

// usedUp returns the quota under the metric name that regions use.
func (q *exceeded) usedUp() mig.UsedUp {
	_, metric, _ := strings.Cut(q.MetricName, "/")
	return mig.UsedUp{Metric: strings.ToUpper(metric), Limit: q.Limit, Region: q.Dimensions["region"]}
}
