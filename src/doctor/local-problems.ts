// What can be broken on the machine that a gateway runs on. docs/doctor.md is made from this table.
import { problemTable } from './problem-table.ts';

export const machineProblems = problemTable({
  'open-files-too-few': {
    severity: 'fault',
    what: 'a process may open {limit} files here, which carry {possible} connections, and a gateway does not start with fewer than {fewest}',
    remedy: 'raise the limit, for example with `ulimit -n 16384`',
  },
  'open-files-limit-connections': {
    severity: 'warning',
    what: 'a process may open {limit} files here, which carry {possible} connections of the {wanted} that are allowed',
    remedy: 'raise the limit, for example with `ulimit -n 16384`, or lower --max-connections',
  },
  'disk-full': {
    severity: 'fault',
    what: '{free} are free on the disk of {folder}: records and trust files can hardly be written',
    remedy: 'free some space there, or give another folder with --state',
  },
  'disk-low': {
    severity: 'warning',
    what: '{free} are free on the disk of {folder}, and the records alone may take 128 MiB',
    remedy: 'free some space there, or give another folder with --state',
  },
  'clock-behind': {
    severity: 'fault',
    what: 'files in {folder} were written {ahead} from now: the clock of this machine has been set back',
    remedy: 'set the clock (`timedatectl` shows it): certificates are valid by it, those of origins included',
  },
  'system-roots-missing': {
    severity: 'warning',
    what: 'this machine has no file of root certificates, so that origins are verified with the roots built into Node',
    remedy: 'install the package ca-certificates',
  },
  'name-servers-none': {
    severity: 'fault',
    what: 'this machine names no DNS server, so that no origin can be found by its name',
    remedy: 'name one in /etc/resolv.conf, or give the addresses of origins with --resolve',
  },
  'name-servers-silent': {
    severity: 'fault',
    what: 'no DNS server of this machine answers ({servers}): {reason}',
    remedy: 'check the network and /etc/resolv.conf, or give the addresses of origins with --resolve',
  },
  'listen-taken': {
    severity: 'fault',
    what: 'another process already listens on {address}',
    remedy: 'stop it (`ss -ltnp` names it), or choose another address with {flag}',
  },
  'listen-refused': {
    severity: 'fault',
    what: 'this machine does not let us listen on {address}: {detail}',
    remedy: 'choose an address of this machine and a port above 1023 with {flag}',
  },
  'socket-path-too-long': {
    severity: 'fault',
    what: "the paths of the gateway's sockets have {bytes} bytes in the state folder and {fallbackBytes} in the temporary one, and the system takes {most}",
    remedy: 'give a shorter folder with --state, or set TMPDIR to a shorter one',
  },
});

export const envoyProblems = problemTable({
  'envoy-missing': {
    severity: 'fault',
    what: 'there is no Envoy {minimum} or newer, and none can be downloaded: {reason}',
    remedy: 'name one with --envoy or LEAFGATE_ENVOY, or put one on PATH as `envoy`',
  },
  'envoy-not-yet-brought': {
    severity: 'warning',
    what: 'there is no Envoy {minimum} or newer yet: the first `leafgate up` downloads one (37 MB)',
    remedy: 'run `leafgate up` once where there is a network, or name one with --envoy',
  },
  'envoy-unusable': {
    severity: 'fault',
    what: '{setting} names {path}, which is not a usable Envoy: {detail}',
    remedy: 'point {setting} at an Envoy {minimum} or newer, or leave it out to have one found',
  },
  'envoy-wrong-machine': {
    severity: 'fault',
    what: '{setting} names {path}, a program for {madeFor}, and this machine is {machine}',
    remedy: 'point {setting} at an Envoy for {machine}, or leave it out to have one found',
  },
  'envoy-passed-over': {
    severity: 'warning',
    what: '{sentence}',
    remedy: 'nothing, when another one is meant to be used; else bring that one up to date',
  },
});

export const environmentProblems = problemTable({
  'proxy-elsewhere': {
    severity: 'warning',
    what: '{name} sends what is started in this shell to {value}, not through the gateway on {proxy}',
    remedy: 'use `leafgate run -- COMMAND`, which sets the variables for that command alone',
  },
  'proxy-variables-differ': {
    severity: 'warning',
    what: '{name} is {value} and {other} is {otherValue}: some clients read one, some the other',
    remedy: 'set both alike, or neither',
  },
  'no-proxy-everything': {
    severity: 'warning',
    what: '{name} is *, so that everything goes around every proxy',
    remedy: 'take the * out: `leafgate run` keeps the entries that it finds',
  },
  'no-proxy-entry-unread': {
    severity: 'warning',
    what: '{name} has the entry "{entry}", which many clients do not read as it is meant: {reason}',
    remedy: 'write hosts and .suffixes, separated by commas',
  },
  'no-proxy-without-loopback': {
    severity: 'warning',
    what: 'a proxy is set and {missing} stands in no NO_PROXY: requests to this machine itself go to the proxy, which refuses them',
    remedy: 'add localhost,127.0.0.1,::1 to NO_PROXY and no_proxy',
  },
  'trust-variable-broken': {
    severity: 'fault',
    what: '{name} names {path}, which cannot be used: {reason}; a client that reads it trusts nobody',
    remedy: 'unset {name}, or point it at a PEM file of certificates',
  },
  'trust-variable-without-ca': {
    severity: 'warning',
    what: "{name} names {path}, which does not hold the gateway's CA, while a proxy variable leads to the gateway",
    remedy:
      'use `leafgate run -- COMMAND`, or point {name} at the file with the CA and the roots of the system that `leafgate status` names',
  },
});
