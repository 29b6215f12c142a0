// The errors of this room: what a person asked of the probe that it cannot do. A verdict is no error: the command that
// prints it decides on the exit code.
import { errorSlice, exitCodes } from '../errors.ts';

export const probeErrors = errorSlice({
  'probe-trust-without-tls': {
    message: '{options} cannot verify {url}: it is not an https URL, so no certificate is shown',
    remedy: 'give an https:// URL, or leave {options} out',
    exitCode: exitCodes.usage,
  },
  'probe-ca-verifies-nothing': {
    message: '{source} cannot verify any server: {reason}',
    remedy: "give the gateway's CA certificate, such as the ca.pem that leafgate writes",
    exitCode: exitCodes.usage,
  },
  'probe-no-url': {
    message: 'no URL to check',
    remedy: 'name at least one https:// URL that the gateway intercepts',
    exitCode: exitCodes.usage,
  },
  'probe-listen-failed': {
    message: 'the probe cannot listen on {address}: {detail}',
    remedy: 'choose another address or port, or stop what listens there',
    exitCode: exitCodes.environment,
  },
  'probe-parameter-missing': {
    message: 'parameter {name} is missing',
    remedy: 'ask as /fetch?url=https://HOST/&roots=bundle',
    exitCode: exitCodes.usage,
  },
  'probe-parameter-unknown': {
    message: 'parameter {name} is not known',
    remedy: 'there are url, roots and dial',
    exitCode: exitCodes.usage,
  },
  'probe-parameter-repeated': {
    message: 'parameter {name} is given more than once',
    remedy: 'give it once',
    exitCode: exitCodes.usage,
  },
  'probe-roots-unknown': {
    message: 'roots "{roots}" is neither bundle nor system',
    remedy: "give roots=bundle for the gateway's CA or roots=system for the roots of this machine",
    exitCode: exitCodes.usage,
  },
  'probe-request-too-long': {
    message: 'the request line is longer than {limit} characters',
    remedy: 'give a shorter URL: the path and query need not be real to check trust',
    exitCode: exitCodes.usage,
  },
  'probe-busy': {
    message: '{limit} fetches are running already',
    remedy: 'ask again in a second',
    exitCode: exitCodes.failed,
  },
  'probe-host-refused': {
    message: 'host "{host}" is not a name of this probe',
    remedy: 'ask by the address that it listens on; a web page must not reach it through a name of its own',
    exitCode: exitCodes.usage,
  },
  'probe-browser-refused': {
    message: 'the request comes from a web page',
    remedy: 'ask with curl or another program: pages must not make this machine fetch for them',
    exitCode: exitCodes.usage,
  },
  'probe-path-unknown': {
    message: 'there is no such path',
    remedy: 'there are /fetch and /livez',
    exitCode: exitCodes.usage,
  },
  'probe-method-refused': {
    message: 'method {method} is not served',
    remedy: 'use GET',
    exitCode: exitCodes.usage,
  },
});
