// The errors of pools. Each fault of a CA names the CA and, where the CA would work in some clients only, the clients
// that would fail. No message carries bytes of a pool: it is full of keys.
import { errorSlice, exitCodes } from '../errors.ts';

const usage = exitCodes.usage;
const reissue = 'issue the CA again, or make a new pool with `leafgate pool create`';

export const poolErrors = errorSlice({
  'pool-file-unreadable': {
    message: 'the pool file {source} cannot be read: {reason}',
    remedy: 'check the path and the permissions, or make a pool with `leafgate pool create --out FILE`',
    exitCode: usage,
  },
  'pool-file-exists': {
    message: '{path} exists already',
    remedy: 'a pool is never overwritten, since clients may trust it: choose another path, or move the old file away',
    exitCode: usage,
  },
  'pool-folder-missing': {
    message: 'the pool cannot be written to {path}: there is no folder {folder}',
    remedy: 'make it, for its owner only (`mkdir -m 700 {folder}`), or correct the path',
    exitCode: usage,
  },
  'pool-file-unwritable': {
    message: 'the pool cannot be written to {path}: {reason}',
    remedy: 'choose a folder that you may write to',
    exitCode: exitCodes.environment,
  },
  'pool-secret-exists': {
    message: 'the Secret {secret} exists already',
    remedy:
      'a pool is never replaced, since clients may trust it: look at it with `leafgate pool inspect --secret {secret}`, or choose another name',
    exitCode: usage,
  },
  'pool-secret-missing': {
    message: 'there is no Secret {secret}',
    remedy: 'check namespace and name, or make a pool with `leafgate pool create --secret {secret}`',
    exitCode: usage,
  },
  'pool-secret-key': {
    message: 'the Secret {secret} has nothing in its key "pool"',
    remedy:
      'put the JSON of a pool there (docs/pool.md), or make another Secret with `leafgate pool create --secret NS/NAME`',
    exitCode: usage,
  },
  'pool-too-large': {
    message: 'the pool {source} is larger than {maxBytes} bytes',
    remedy: 'remove CAs that nobody trusts any more',
    exitCode: usage,
  },
  'pool-not-json': {
    message: 'the pool {source} is not JSON in UTF-8',
    remedy: 'restore the pool from where it came; it may have been cut off while it was written',
    exitCode: usage,
  },
  'pool-not-a-pool': {
    message: 'the pool {source} has not the form of a pool: {reason}',
    remedy: 'see docs/pool.md for the form, or make a pool with `leafgate pool create`',
    exitCode: usage,
  },
  'pool-empty': {
    message: 'the pool {source} has no CA',
    remedy: 'make a pool with `leafgate pool create`',
    exitCode: usage,
  },
  'pool-too-many-cas': {
    message: 'the pool {source} has {count} CAs, more than {maxCas}',
    remedy: 'remove CAs that nobody trusts any more',
    exitCode: usage,
  },
  'pool-unknown-active': {
    message: 'ActiveForSigning is {active}, and no CA of the pool has that ID',
    remedy: 'set ActiveForSigning to the ID of the CA that shall sign',
    exitCode: usage,
  },
  'pool-duplicate-id': {
    message: 'CA {ca}: the ID stands more than once in the pool',
    remedy: 'give each CA an ID of its own',
    exitCode: usage,
  },
  'pool-ca-field': {
    message: 'CA {ca}: {field} {reason}',
    remedy: 'see docs/pool.md for the fields of a CA',
    exitCode: usage,
  },
  'pool-ca-private-key-as-certificate': {
    message: 'CA {ca}: {field} holds a private key, where a certificate is published to everybody',
    remedy: 'replace the key by the certificate, and treat the key as leaked wherever the pool has been published',
    exitCode: usage,
  },
  'pool-ca-private-key-as-id': {
    message: 'CA {ca}: ID holds a private key, and everybody sees an ID',
    remedy: 'give the CA an ID that is a name, and treat the key as leaked wherever the pool has been published',
    exitCode: usage,
  },
  'pool-ca-certificate-unreadable': {
    message: 'CA {ca}: {field}: {reason}',
    remedy: 'write the certificate again as DER, nothing after it',
    exitCode: usage,
  },
  'pool-ca-key-unreadable': {
    message: 'CA {ca}: {field}: {reason}',
    remedy: 'write the key again as unencrypted PKCS#8, nothing after it',
    exitCode: usage,
  },
  'pool-ca-key-kind': {
    message: 'CA {ca}: the {certificate} has a {kind} key; Bun, Chromium or older clients refuse what it signs',
    remedy: 'use P-256, P-384 or RSA of 2048 to 4096 bits',
    exitCode: usage,
  },
  'pool-ca-key-mismatch': {
    message: 'CA {ca}: the signing key does not belong to the {certificate}; every client would refuse its leaves',
    remedy: 'put the key and the certificate of the same CA together; with intermediates, the key is that of the first',
    exitCode: usage,
  },
  'pool-ca-version': {
    message: 'CA {ca}: the {certificate} is of X.509 version {version}; rustls and OpenSSL refuse it',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-serial': {
    message:
      'CA {ca}: the serial of the {certificate} is not positive and of at most 20 octets; Go refuses the whole file',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-not-a-ca': {
    message: 'CA {ca}: the {certificate} is no CA (basicConstraints without CA:TRUE); every client refuses its leaves',
    remedy: 'put the certificate of a CA there, not that of a server',
    exitCode: usage,
  },
  'pool-ca-constraints-not-critical': {
    message:
      'CA {ca}: basicConstraints of the {certificate} is not critical; Python 3.13 and OpenSSL strict refuse it (error 89)',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-no-key-usage': {
    message: 'CA {ca}: the {certificate} has no keyUsage; Python 3.13 and OpenSSL strict refuse it (error 92)',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-no-cert-sign': {
    message:
      'CA {ca}: keyUsage of the {certificate} lacks keyCertSign; OpenSSL, Node, Python, curl and Java refuse its leaves',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-no-subject-key-id': {
    message:
      'CA {ca}: the {certificate} has no subject key id; Python 3.13 and OpenSSL strict refuse it and its leaves (errors 85, 86)',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-not-for-servers': {
    message:
      'CA {ca}: extendedKeyUsage of the {certificate} lacks serverAuth; Go, OpenSSL, Node and browsers refuse its leaves',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-critical-extension': {
    message:
      'CA {ca}: the {certificate} has a critical extension {extension}; rustls and others refuse what they do not know',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-name-constraints': {
    message:
      'CA {ca}: the {certificate} constrains names by {forms}, which forbids every leaf in OpenSSL or cannot be checked',
    remedy: 'constrain by DNS names and addresses only',
    exitCode: usage,
  },
  'pool-ca-weak-signature': {
    message: 'CA {ca}: the {certificate} is signed with SHA-1 or MD5; every current client refuses it',
    remedy: reissue,
    exitCode: usage,
  },
  'pool-ca-not-self-signed': {
    message: 'CA {ca}: the root is not self-signed; OpenSSL, Node, Python and curl cannot end a chain at it (error 2)',
    remedy: 'put the self-signed root there, and what is between it and the leaf into IntermediateCertificatesDER',
    exitCode: usage,
  },
  'pool-ca-chain-broken': {
    message: 'CA {ca}: the {certificate} is not issued by the {issuer}: {reason}; every client would refuse the chain',
    remedy: 'list the intermediates from the one that signs leaves up to the one below the root',
    exitCode: usage,
  },
  'pool-ca-path-length': {
    message:
      'CA {ca}: the path length of the {certificate} allows {allowed} intermediates below it, and there are {below}',
    remedy: 'sign leaves with a CA that is nearer to the root, or issue the chain again without path length',
    exitCode: usage,
  },
  'pool-ca-expired': {
    message: 'CA {ca}: the {certificate} expired at {notAfter}; every client refuses it',
    remedy: 'let another CA take over, and publish it: docs/pool.md, "Another CA takes over", has how',
    exitCode: usage,
  },
  'pool-ca-not-yet-valid': {
    message: 'CA {ca}: the {certificate} is not valid before {notBefore}; every client refuses it until then',
    remedy: 'check the clock of this machine, or activate the CA later',
    exitCode: usage,
  },
  'pool-ca-ends-too-soon': {
    message: 'CA {ca}: its chain ends at {notAfter}, sooner than the shortest leaf would',
    remedy: 'let another CA take over, as docs/pool.md has it: leaves never outlive their CA',
    exitCode: usage,
  },
  'pool-ca-ed25519': {
    message: 'CA {ca}: the key of the {certificate} is Ed25519, and NSS (Firefox) and mbedTLS refuse what it signs',
    remedy:
      "activate a P-256 CA, or accept the loss with --allow-ed25519; agent-substrate's make-ca-pool makes Ed25519 unless told --key-type ECDSAP256",
    exitCode: usage,
  },
});
