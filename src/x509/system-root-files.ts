// Where systems keep their root certificates as one PEM file, in the order they are looked for. Must not know who reads
// them.

export const systemRootFiles: readonly string[] = [
  // Debian, Ubuntu, Alpine with ca-certificates, Arch, Gentoo
  '/etc/ssl/certs/ca-certificates.crt',
  // Fedora, RHEL and their kin
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  // openSUSE
  '/etc/ssl/ca-bundle.pem',
  // Alpine without the package, BSD; macOS too, there without what an administrator added to the keychain
  '/etc/ssl/cert.pem',
];
