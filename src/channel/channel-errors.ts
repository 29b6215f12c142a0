// What keeps the SDS server from listening on TCP: files, names and choices that are missing or contradict each other.
import { errorSlice, exitCodes } from '../errors.ts';

export const channelErrors = errorSlice({
  'channel-files-missing': {
    message:
      '{dir} has none of {files}, and leaf keys cross a network in plaintext only where somebody chose that{chosen}',
    remedy:
      'put the three files there, or name their folder with --tls-dir; the one way to plaintext is LEAFGATE_SDS_INSECURE=true',
    exitCode: exitCodes.usage,
  },
  'channel-gateway-wants-tls': {
    message: '{dir} has none of {files}, and the gateway asks for TLS{chosen}',
    remedy:
      'mount the Secret that spec.sds.tls.secretRef names there, as deploy/sds does; plaintext takes spec.sds.tls.enabled: false beside the variable',
    exitCode: exitCodes.usage,
  },
  'channel-plaintext-half-chosen': {
    message: 'the gateway asks for plaintext, and LEAFGATE_SDS_INSECURE does not{chosen}',
    remedy:
      'set LEAFGATE_SDS_INSECURE=true in the Deployment of these servers, or enable TLS again and mount the Secret of spec.sds.tls.secretRef',
    exitCode: exitCodes.usage,
  },
  'channel-files-incomplete': {
    message: '{dir} lacks {missing}',
    remedy: 'put what is missing beside the others: a certificate, its key, and the CAs that clients are verified with',
    exitCode: exitCodes.usage,
  },
  'channel-wrong-name': {
    message: '{source} has a certificate for {names}, and not for {name}',
    remedy: 'issue one with the DNS name that --server-name says, or say with it what clients ask for',
    exitCode: exitCodes.usage,
  },
  'channel-unusable': {
    message: '{source} cannot be served: {reason}',
    remedy: 'use keys and signatures that OpenSSL takes at its default security level, as `openssl verify` shows',
    exitCode: exitCodes.usage,
  },
  'channel-too-large': {
    message: '{source} has {bytes} bytes of {what}, and a handshake of TLS holds {maxBytes}',
    remedy:
      'keep in tls.crt the certificate with the CAs between, and in ca.crt the CAs that clients get their certificates from',
    exitCode: exitCodes.usage,
  },
  'channel-clients-missing': {
    message: 'nobody may connect to {listen}: no client is named',
    remedy:
      'add --allowed-san NAME for each DNS name or URI in the certificates of clients, or let in every certificate of ca.crt with --allow-any-client; of a gateway, list them in spec.sds.tls.allowedSANs',
    exitCode: exitCodes.usage,
  },
  'channel-clients-contradict': {
    message: '--allowed-san lists clients, and --allow-any-client lets every one in',
    remedy: 'keep one of the two',
    exitCode: exitCodes.usage,
  },
  'channel-listen-failed': {
    message: 'the SDS server cannot listen on {address}: {detail}',
    remedy: 'choose an address of this machine and a free port',
    exitCode: exitCodes.environment,
  },
});
