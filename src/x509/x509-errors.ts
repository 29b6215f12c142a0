// The errors of reading, writing and signing certificates. No message ever carries bytes of what was read: it may have
// been a key.
import { errorSlice, exitCodes } from '../errors.ts';

export const x509Errors = errorSlice({
  'der-malformed': {
    message: 'not strict DER: {reason}',
    remedy: 'export the certificate or key again as DER, with nothing before or after it',
    exitCode: exitCodes.usage,
  },
  'certificate-too-large': {
    message: 'a certificate of {bytes} bytes is larger than {maxBytes}',
    remedy: 'use a certificate of ordinary size; no CA issues one as large as this',
    exitCode: exitCodes.usage,
  },
  'certificate-unreadable': {
    message: 'not a certificate that can be read: {reason}',
    remedy: 'check the file with `openssl x509 -in FILE -noout -text` and export it again',
    exitCode: exitCodes.usage,
  },
  'pem-too-large': {
    message: '{source} has more than {limit}',
    remedy: 'point to a bundle of CA certificates of ordinary size',
    exitCode: exitCodes.usage,
  },
  'pem-empty': {
    message: '{source} has no certificate',
    remedy: 'point to a PEM file with at least one CERTIFICATE block',
    exitCode: exitCodes.usage,
  },
  'pem-private-key': {
    message: '{source}, line {line}: a private key among certificates',
    remedy: 'take the key out of the file, and treat it as leaked wherever the file has been distributed',
    exitCode: exitCodes.usage,
  },
  'pem-wrong-label': {
    message: '{source}, line {line}: a block of the kind {label}, expected {expected}',
    remedy: 'convert the block or remove it; `openssl x509` writes plain CERTIFICATE blocks',
    exitCode: exitCodes.usage,
  },
  'pem-broken-block': {
    message: '{source}, line {line}: {reason}',
    remedy:
      'write the file again; each block needs its BEGIN and END line on lines of their own and whole base64 between',
    exitCode: exitCodes.usage,
  },
  'pem-has-headers': {
    message: '{source}, line {line}: headers inside a PEM block',
    remedy: 'remove the headers, or export the block again unencrypted and without attributes',
    exitCode: exitCodes.usage,
  },
  'pem-trailing-data': {
    message: '{source}, line {line}: text outside the PEM blocks',
    remedy: 'keep only PEM blocks, empty lines and lines that start with #',
    exitCode: exitCodes.usage,
  },
  'pem-bad-certificate': {
    message: '{source}, line {line}: {reason}',
    remedy: 'remove the block or export that certificate again',
    exitCode: exitCodes.usage,
  },
  'private-key-unreadable': {
    message: 'not a private key that can be read: {reason}',
    remedy: 'give an unencrypted PKCS#8 key, as `openssl pkcs8 -topk8 -nocrypt` writes it',
    exitCode: exitCodes.usage,
  },
  'credential-key-missing': {
    message: '{source} has {count} private keys, expected one',
    remedy: 'give a PEM file with the private key that belongs to the certificate, and nothing else',
    exitCode: exitCodes.usage,
  },
  'credential-key-encrypted': {
    message: '{source} has a private key that is encrypted',
    remedy: 'give it without a passphrase, as `openssl pkcs8 -topk8 -nocrypt` writes it: nobody is there to type one',
    exitCode: exitCodes.usage,
  },
  'credential-key-unreadable': {
    message: '{source}: {reason}',
    remedy: 'give an unencrypted PKCS#8 key, as `openssl pkcs8 -topk8 -nocrypt` writes it',
    exitCode: exitCodes.usage,
  },
  'credential-key-mismatch': {
    message: '{keySource} is not the key of the first certificate in {source}',
    remedy:
      'give the key that this certificate was made for; the certificate itself stands first, those of its CAs after it',
    exitCode: exitCodes.usage,
  },
  'credential-key-kind': {
    message: '{source} has a certificate for a key of the kind {kind}, which Envoy does not take',
    remedy: 'use a key of P-256, P-384, P-521, Ed25519, or RSA of at least 2048 bits',
    exitCode: exitCodes.usage,
  },
  'credential-expired': {
    message: '{source} has a certificate that expired at {until}',
    remedy: 'renew it; the files are followed, so that a new one is taken without a restart',
    exitCode: exitCodes.usage,
  },
  'credential-not-yet-valid': {
    message: '{source} has a certificate that is valid from {from} only',
    remedy: "wait until then, or see whether this machine's clock is right",
    exitCode: exitCodes.usage,
  },
  'credential-wrong-purpose': {
    message: '{source} has a certificate that is not for {purpose}',
    remedy: 'use one whose extended key usage has {purpose}, or that has none',
    exitCode: exitCodes.usage,
  },
  'roots-no-ca': {
    message: '{source} has no CA certificate that is valid now',
    remedy: 'give the CAs themselves, not certificates that they issued, and renew those that have expired',
    exitCode: exitCodes.usage,
  },
  'signing-key-unsupported': {
    message: 'a {kind} key cannot sign leaves',
    remedy: 'use a CA key of P-256, P-384, RSA of 2048 to 4096 bits, or Ed25519',
    exitCode: exitCodes.usage,
  },
  'leaf-refused': {
    message: 'no leaf is encoded: {reason}',
    remedy: 'this is a fault of the caller; report it with the output of --verbose',
    exitCode: exitCodes.failed,
  },
  'leaf-check-failed': {
    message: 'a minted leaf failed its own check: {what}',
    remedy: 'no such leaf is served; report this with the output of `leafgate pool inspect`',
    exitCode: exitCodes.failed,
  },
});
