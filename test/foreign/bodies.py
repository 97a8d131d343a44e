"""The resources that the walks make, as Compute's documentation writes them."""

PROJECT = "demo"
REGION = "us-central1"
ZONE = "us-central1-a"

SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


def template(name, machine="a3-highgpu-8g", **scheduling):
    """A flex-start template with all that a real one has."""
    return {
        "name": name,
        "description": "made by hand",
        "properties": {
            "machineType": machine,
            "labels": {"slurm_cluster_name": "alpha"},
            "tags": {"items": ["alpha"]},
            "metadata": {"items": [{"key": "startup-script", "value": "#!/bin/bash\n"}]},
            "scheduling": {
                "provisioningModel": "FLEX_START",
                "instanceTerminationAction": "DELETE",
                "onHostMaintenance": "TERMINATE",
                "automaticRestart": False,
                "maxRunDuration": {"seconds": "7200"},
            }
            | scheduling,
            "reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
            "disks": [
                {
                    "boot": True,
                    "autoDelete": True,
                    "type": "PERSISTENT",
                    "initializeParams": {
                        "sourceImage": "projects/debian-cloud/global/images/family/debian-12",
                        "diskSizeGb": "50",
                        "diskType": "hyperdisk-balanced",
                    },
                }
            ],
            "networkInterfaces": [
                {
                    "network": "global/networks/default",
                    "accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}],
                }
            ],
            "serviceAccounts": [{"email": "default", "scopes": SCOPES}],
        },
    }


def group(name, template, zones=("us-central1-a", "us-central1-b"), **others):
    """A regional group for resize requests."""
    return {
        "name": name,
        "baseInstanceName": name,
        "description": "made by hand",
        "targetSize": 0,
        "versions": [{"instanceTemplate": template}],
        "distributionPolicy": {
            "targetShape": "ANY_SINGLE_ZONE",
            "zones": [{"zone": f"projects/{PROJECT}/zones/{z}"} for z in zones],
        },
        "updatePolicy": {"type": "OPPORTUNISTIC", "instanceRedistributionType": "NONE"},
        "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},
    } | others


def request(name, *instances, seconds=7200, **others):
    """A resize request for instances of these names."""
    body = {"name": name, "requestedRunDuration": {"seconds": str(seconds)}}
    if instances:
        body["instances"] = [{"name": i} for i in instances]
    return body | others


def bulk(template, *names, **others):
    """VMs without a group."""
    return {
        "count": str(len(names)),
        "sourceInstanceTemplate": template,
        "perInstanceProperties": {n: {"name": n} for n in names},
    } | others
