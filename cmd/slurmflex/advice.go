package main

import (
	"context"
	"time"

	"go.uber.org/zap"

	"slurmflex/config"
	"slurmflex/flex/estimate"
	"slurmflex/mig"
)

// adviceLimit is for all questions to Compute of one estimate.
const adviceLimit = 10 * time.Second

// advise adds Compute's advice to the answers, which are those of the questions in
// their order. An error is a part of the answer.
func (a *app) advise(ctx context.Context, cfg *config.Config, questions []estimate.Question, answers []estimate.Answer) {
	defer a.progress.Begin("reading Compute's advice")()
	ctx, cancel := context.WithTimeout(ctx, adviceLimit)
	defer cancel()
	cloud, noCloud := a.cloud(ctx, cfg, zap.NewNop())
	if noCloud == nil {
		defer func() { _ = cloud.Close() }()
	}
	for i, q := range questions {
		advice, err := mig.Advice{}, noCloud
		if err == nil {
			set := estimate.SetOf(cfg, q.NodeSet)
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
