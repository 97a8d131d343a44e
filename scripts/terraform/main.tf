# What slurmflex needs of a project: a least role for the controller's service
# account, and a template for the nodes of a nodeset. It is an example to take
# from, and a module to call as it is:
#
#   terraform init
#   terraform apply -var-file=example.tfvars

terraform {
  required_version = ">= 1.3"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 7.0"
    }
  }
}

locals {
  # One list of permissions, for gcloud and for Terraform.
  role = yamldecode(file("${path.module}/../iam/slurmflex-role.yaml"))
}

resource "google_project_iam_custom_role" "slurmflex" {
  project     = var.project
  role_id     = var.role_id
  title       = local.role.title
  description = local.role.description
  stage       = local.role.stage
  permissions = local.role.includedPermissions
}

resource "google_project_iam_member" "controller" {
  project = var.project
  role    = google_project_iam_custom_role.slurmflex.id
  member  = "serviceAccount:${var.controller_service_account}"
}

# An account that creates an instance with a service account must be allowed to act as
# that account: here as that one, and no other.
resource "google_service_account_iam_member" "controller_acts_as_nodes" {
  service_account_id = "projects/${var.project}/serviceAccounts/${var.nodes_service_account}"
  role               = "roles/iam.serviceAccountUser"
  member             = "serviceAccount:${var.controller_service_account}"
}

resource "google_compute_region_instance_template" "nodes" {
  project      = var.project
  region       = var.region
  name_prefix  = "${var.name}-"
  description  = "Flex-start nodes of Slurm, asked for by slurmflex"
  machine_type = var.machine_type

  disk {
    boot         = true
    auto_delete  = true
    source_image = var.image
    disk_size_gb = var.disk_size_gb
    disk_type    = var.disk_type
  }

  network_interface {
    subnetwork = var.subnetwork
  }

  service_account {
    email  = var.nodes_service_account
    scopes = ["cloud-platform"]
  }

  metadata = var.metadata

  # What Compute prescribes for flex-start. The run duration is the longest;
  # slurmflex gives each request its own.
  scheduling {
    provisioning_model          = "FLEX_START"
    instance_termination_action = "DELETE"
    on_host_maintenance         = "TERMINATE"
    automatic_restart           = false
    max_run_duration {
      seconds = 604800
    }
  }

  reservation_affinity {
    type = "NO_RESERVATION"
  }

  lifecycle {
    create_before_destroy = true

    # Providers of before May 2026 make a STANDARD template of it, without a word.
    postcondition {
      condition     = self.scheduling[0].provisioning_model == "FLEX_START"
      error_message = "The template is not FLEX_START: take a newer hashicorp/google provider."
    }
  }
}
