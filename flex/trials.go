package flex

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"slurmflex/config"
	"slurmflex/flex/plan/report"
	"slurmflex/flex/plan/scene"
)

// OtherTrials describes what other trials of the cluster created, and names the regions that it
// could not read.
func OtherTrials(ctx context.Context, cfg *config.Config, cloud Cloud) (says []string) {
	snap := scene.Snapshot{Now: time.Now(), Compute: scene.Compute{Unseen: map[string]error{}}}
	regions := cfg.FlexRegions()
	groups, unseen := cloud.Groups(ctx, cfg.Cluster, regions)
	_, snap.Trials = report.WithoutTrials(cfg.Cluster, groups)
	snap.Policies, snap.UnseenPolicies = cloud.Policies(ctx, cfg.Cluster, regions)
	for _, region := range regions {
		if err := cmp.Or(unseen[region], snap.UnseenPolicies[region]); err != nil {
			says = append(says, fmt.Sprintf("whether an earlier trial has left anything in %s is not known: %v", region, err))
		}
	}
	for _, t := range report.Trials(scene.Of(cfg, snap)) {
		says = append(says, t.Told())
	}
	return says
}
