package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"slurmflex/config"
	"slurmflex/mig/gce"
)

// remnants names the groups and workload policies of the cluster's other trials, with the commands
// that delete them. It returns an error for the regions that it could not read.
func remnants(ctx context.Context, cfg *config.Config, cloud *gce.Client) (all []string, errs error) {
	regions := cfg.FlexRegions()
	groups, unseen := cloud.Groups(ctx, owner(cfg.Cluster), regions)
	policies, unseenPolicies := cloud.Policies(ctx, owner(cfg.Cluster), regions)
	for _, region := range regions {
		if err := cmp.Or(unseen[region], unseenPolicies[region]); err != nil {
			errs = errors.Join(errs, fmt.Errorf("other trials in %s are unknown: %w", region, err))
		}
	}
	found := func(collection, name, region string) {
		all = append(all, fmt.Sprintf("%s is of another trial of the cluster; if that was killed, run: gcloud compute %s delete %[1]s --project=%[3]s --region=%s",
			name, collection, cfg.Project, region))
	}
	for _, g := range groups {
		found("instance-groups managed", g.Name, g.Region)
	}
	for _, p := range policies {
		found("resource-policies", p.Name, p.Region)
	}
	return all, errs
}
