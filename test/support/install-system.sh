#!/bin/sh
# What the tests want of the system itself, for Debian 12. Run by .ci/run only, as root: `npm test` never touches the system.
set -eu
packages="ca-certificates cargo-web chromium curl firefox-esr git iproute2 liblwp-protocol-https-perl libnss3-tools nftables
  openjdk-17-jdk-headless openssl php-cli php-curl python3 python3-pip python3-pycurl python3-venv ruby wget"
missing=""
for package in $packages; do
  dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
if [ -z "$missing" ]; then
  echo "system packages: all there"
  exit 0
fi
echo "system packages: installing$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086 # a list
apt-get install -y -qq --no-install-recommends $missing
