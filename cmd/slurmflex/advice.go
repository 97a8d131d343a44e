package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/estimate"
	"slurmflex/flex/view"
	"slurmflex/mig"
)

const (
	adviceLimit = 10 * time.Second // for all questions to Compute of one estimate
	adviceError = 200              // characters of an error that people are shown; JSON has all
)

// advise adds Compute's advice to the answers, which are those of the questions in
// their order. An error is a part of the answer.
func (a *app) advise(ctx context.Context, cfg *config.Config, questions []question, answers []estimate.Answer) {
	defer a.progress.begin("reading Compute's advice")()
	ctx, cancel := context.WithTimeout(ctx, adviceLimit)
	defer cancel()
	cloud, noCloud := a.cloud(ctx, cfg, zap.NewNop())
	if noCloud == nil {
		defer func() { _ = cloud.Close() }()
	}
	for i, q := range questions {
		advice, err := mig.Advice{}, noCloud
		if err == nil {
			set := setOf(cfg, q.nodeset)
			advice, err = cloud.CapacityAdvice(ctx, mig.AdviceSpec{
				Region: set.Region, Template: set.Template, Model: set.Flex.Capacity.Model(), Zones: set.Zones,
				Count: q.Request.Count, OneZone: set.Flex.Provisioning == config.Queued,
			})
		}
		answers[i].Advice = &estimate.Advice{Obtainability: &advice.Obtainability, Zones: advice.Zones}
		if err != nil {
			answers[i].Advice = &estimate.Advice{Error: err.Error()}
		}
	}
}

// adviceText is the advice, or that there is none, in one line.
func adviceText(a *estimate.Advice) string {
	if a.Error != "" {
		return "Compute gave no advice: " + view.Clip(view.Printable(a.Error), adviceError)
	}
	text := fmt.Sprintf("Compute's advice: obtainability %.2g of 1", *a.Obtainability)
	if len(a.Zones) > 0 {
		text += ", in " + view.Printable(strings.Join(a.Zones, ", "))
	}
	return text
}
