# Installs slurmflex on the controller, as root. The lines above set package, hooks and settings.
# shellcheck shell=bash disable=SC2154
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
chmod 755 "$folder" # apt reads the package as another user
file=$folder/${package##*/}
case $package in
gs://*) gcloud storage cp "$package" "$file" ;;
*) curl --fail --silent --show-error --location --output "$file" "$package" ;;
esac
case $file in
*.deb) apt-get install -y -o DPkg::Lock::Timeout=120 "$file" ;;
*.rpm) dnf install -y "$file" ;;
esac

# slurmsync writes slurm-gcp's config.yaml again when the blueprint has changed.
printf '%s\n' "$settings" >/etc/slurmflex/blueprint.yaml
cat >/etc/systemd/system/slurmflex-config.path <<'END'
[Unit]
Description=Watch slurm-gcp's configuration for slurmflex
[Path]
PathChanged=/slurm/scripts/config.yaml
[Install]
WantedBy=multi-user.target
END
cat >/etc/systemd/system/slurmflex-config.service <<'END'
[Unit]
Description=Write slurmflex's configuration from slurm-gcp's and the blueprint's
[Service]
Type=oneshot
WorkingDirectory=/etc/slurmflex
UMask=0022
ExecStart=/bin/sh -c 'cat /slurm/scripts/config.yaml blueprint.yaml >config.yaml.new'
ExecStart=/usr/bin/slurmflex --config /etc/slurmflex/config.yaml.new config check
ExecStart=/bin/mv config.yaml.new config.yaml
ExecStart=/bin/systemctl try-reload-or-restart slurmflex.service
END
systemctl daemon-reload
systemctl enable --now slurmflex-config.path
systemctl start slurmflex-config.service
if "$hooks"; then
  systemctl enable --now slurmflex.service
fi
