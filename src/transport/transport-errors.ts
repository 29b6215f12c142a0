// The errors of this room: wrong input from a person or a caller. How a fetch went is no error but a FetchResult.
import { errorSlice, exitCodes } from '../errors.ts';

export const transportErrors = errorSlice({
  'trust-server-name': {
    message: 'server name "{name}" is neither a host name nor an IP address',
    remedy: 'give the name that the certificate of the server carries, such as api.example.com',
    exitCode: exitCodes.usage,
  },
  'trust-file-unreadable': {
    message: 'the certificates in {path} cannot be read: {detail}',
    remedy: 'check that the file exists and that this user may read it',
    exitCode: exitCodes.usage,
  },
  'trust-no-system-roots': {
    message: 'this machine has no file of system root certificates (looked for {paths})',
    remedy: 'install the package ca-certificates, or name the file with --system-roots FILE',
    exitCode: exitCodes.environment,
  },
  'proxy-not-a-url': {
    message: 'proxy "{proxy}" is not a URL of the form http://HOST:PORT',
    remedy: 'give it as http://HOST:PORT, such as http://127.0.0.1:3128',
    exitCode: exitCodes.usage,
  },
  'proxy-over-tls': {
    message:
      'proxy "{proxy}" is reached over TLS, so it would be verified with the roots meant for the server behind it',
    remedy: 'give a http:// proxy: the TLS to the server then runs end to end through its tunnel',
    exitCode: exitCodes.usage,
  },
  'fetch-url-invalid': {
    message: '"{url}" is not a URL',
    remedy: 'give a whole URL, such as https://api.example.com/',
    exitCode: exitCodes.usage,
  },
  'fetch-url-too-long': {
    message: 'the URL has {length} characters, more than {limit}',
    remedy: 'give a shorter URL: the path and query need not be real to check trust',
    exitCode: exitCodes.usage,
  },
  'fetch-url-not-https': {
    message: '"{url}" is not an https URL, so there is no certificate to verify',
    remedy: 'give an https:// URL; nothing is ever sent over plain HTTP instead',
    exitCode: exitCodes.usage,
  },
  'fetch-url-credentials': {
    message: 'the URL for {host} carries a user name or a password',
    remedy: 'leave them out of the URL, where they end up in logs; send a header if the server needs them',
    exitCode: exitCodes.usage,
  },
  'fetch-url-host': {
    message: '"{host}" is neither a host name nor an IP address',
    remedy: 'check the host in the URL',
    exitCode: exitCodes.usage,
  },
  'fetch-dial-invalid': {
    message: 'dial address "{dial}" is not HOST:PORT',
    remedy: 'give it as HOST:PORT, such as 192.0.2.7:443 or [2001:db8::7]:443',
    exitCode: exitCodes.usage,
  },
  'fetch-header-reserved': {
    message: 'header "{header}" is set by the transport itself',
    remedy: 'leave it out: the URL decides the host, the connection decides the rest',
    exitCode: exitCodes.failed,
  },
  'transport-registry-full': {
    message: 'all {limit} connections that may be kept to different origins, trusts and proxies are in use',
    remedy: 'wait until a request has ended and try again',
    exitCode: exitCodes.failed,
  },
  'transport-registry-closed': {
    message: 'the connections have been closed, no request can be made any more',
    remedy: 'make requests before the process stops',
    exitCode: exitCodes.failed,
  },
});
