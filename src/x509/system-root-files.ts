// Where systems keep their root certificates, in the order they are looked for. Must not know who reads
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

/** one root a file, where there is no file of all of them */
export const systemRootFolders: readonly string[] = [
  '/etc/ssl/certs',
  // Arch
  '/etc/ca-certificates/extracted/cadir',
  // Android
  '/system/etc/security/cacerts',
];
