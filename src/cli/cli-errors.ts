// The errors of the commands themselves: the state folder, its lock, choices that exclude each other.
import { errorSlice, exitCodes } from '../errors.ts';

export const cliErrors = errorSlice({
  'state-folder-unknown': {
    message: 'there is no place for the state folder: {detail}',
    remedy: 'give one with --state DIR',
    exitCode: exitCodes.usage,
  },
  'state-folder-unusable': {
    message: 'the state folder {folder} cannot be used: {detail}',
    remedy: 'give another folder with --state, or make it yours and writable',
    exitCode: exitCodes.environment,
  },
  'state-folder-foreign': {
    message: 'the folder {folder} has files that leafgate did not write, and cannot be its state folder',
    remedy: 'give a folder of its own with --state DIR: one that is missing or empty, or that leafgate made',
    exitCode: exitCodes.environment,
  },
  'state-folder-open': {
    message: 'the state folder {folder} can be read by others (mode {mode})',
    remedy: 'it holds a CA key: run `chmod 700 {folder}`, and make a new pool if somebody may have read it',
    exitCode: exitCodes.environment,
  },
  'state-schema-unknown': {
    message:
      'the state folder {folder} was written by another version of leafgate (schema {found}, this one reads {known})',
    remedy: 'use the version that wrote it, or give another folder with --state',
    exitCode: exitCodes.environment,
  },
  'state-locked': {
    message: 'a gateway is already running on the state folder {folder} (process {pid})',
    remedy:
      'use it with `leafgate run -- COMMAND`, stop it, or start a second one on a folder of its own with --state DIR',
    exitCode: exitCodes.environment,
  },
  'state-pool-missing': {
    message: 'the state folder {folder} had a CA pool and has none now ({file})',
    remedy:
      'put the file back, or remove the folder to start anew with another CA, which no client trusts yet: it is never re-created by itself',
    exitCode: exitCodes.environment,
  },
  'secret-name-invalid': {
    message: '--secret is "{secret}", which is not the namespace and the name of a Secret',
    remedy: 'give both with a slash between them, such as --secret agents/egress-ca-pool',
    exitCode: exitCodes.usage,
  },
  'bootstrap-file-unreadable': {
    message: '--bootstrap {file} cannot be read: {detail}',
    remedy: 'give the file that Envoy is started with',
    exitCode: exitCodes.usage,
  },
  'run-options-ignored': {
    message: 'a gateway (process {pid}) is already running on this state folder, so {options} would have no effect',
    remedy: 'leave the options out, stop that gateway, or give another folder with --state',
    exitCode: exitCodes.usage,
  },
  'run-command-not-found': {
    message: 'there is no command {command}',
    remedy: 'check its name and PATH, and for a script the interpreter in its first line',
    exitCode: exitCodes.notFound,
  },
  'run-command-not-executable': {
    message: 'the command {command} cannot be started: {detail}',
    remedy: 'name a program that this user may execute (`chmod +x` makes a script one)',
    exitCode: exitCodes.notExecutable,
  },
  'runtime-unknown': {
    message: '{setting} is "{key}", which is none of the runtimes that variables are set for',
    remedy: 'give one or more of {known}',
    exitCode: exitCodes.usage,
  },
  'env-no-gateway': {
    message: 'no gateway runs on the state folder {folder}, whose variables could be printed',
    remedy: 'start `leafgate up`, name its folder with --state, or give --dir and --proxy for another place',
    exitCode: exitCodes.usage,
  },
  'env-dir-relative': {
    message: '--dir is "{dir}", which is no absolute path',
    remedy: 'give the trust folder as the actor sees it, such as /run/leafgate/trust',
    exitCode: exitCodes.usage,
  },
  'env-proxy-missing': {
    message: '--dir is given, but not how the actor reaches the gateway',
    remedy: 'add --proxy http://HOST:PORT, or --without proxy where connections are redirected',
    exitCode: exitCodes.usage,
  },
  'env-proxy-invalid': {
    message: '--proxy is "{value}", which is no URL of a proxy',
    remedy: 'give scheme, host and port, such as http://gateway.egress.svc:3128',
    exitCode: exitCodes.usage,
  },
  'mint-choice-missing': {
    message: 'nothing says which names may be minted',
    remedy:
      'give --policy FILE, or --allow HOST (repeat it for more; *.example.com for all below), or --allow-any for every name',
    exitCode: exitCodes.usage,
  },
  'mint-choice-twice': {
    message: '{chosen} exclude each other',
    remedy: 'give one of them',
    exitCode: exitCodes.usage,
  },
  'policy-choice-twice': {
    message: '--policy and {others} exclude each other',
    remedy: 'write the rules into the policy file, or leave --policy out',
    exitCode: exitCodes.usage,
  },
  'policy-origin-file': {
    message: '{file}: {path} of origin {name} cannot be used: {reason}',
    remedy: 'give a file that this user may read, or check with --without-files a policy that is for another machine',
    exitCode: exitCodes.usage,
  },
  'policy-no-gateway': {
    message: 'no gateway runs on the state folder {folder}',
    remedy: 'start `leafgate up`, or name the state folder of one that runs with --state{alternative}',
    exitCode: exitCodes.usage,
  },
  'open-files-too-few': {
    message: 'this process may open {limit} files, and a gateway needs at least {needed}',
    remedy: 'raise the limit, for example with `ulimit -n 4096`',
    exitCode: exitCodes.environment,
  },
  'front-needs-certificate': {
    message: '{setting} is given without --proxy-cert',
    remedy: 'add --proxy-cert DIR, the folder with the tls.crt and tls.key that the proxy shows to its clients',
    exitCode: exitCodes.usage,
  },
  'transparent-not-here': {
    message: '{setting} needs Linux, and this is {platform}',
    remedy: 'tell clients of the proxy instead, for example with `leafgate run`',
    exitCode: exitCodes.usage,
  },
  'transparent-unguarded': {
    message: '{setting} takes connections at every address of this machine, and nothing says from whom',
    remedy: 'add --allow-from CIDR for each network whose connections are redirected',
    exitCode: exitCodes.usage,
  },
  'transparent-interface': {
    message: '--interface {value} is no name of a network interface',
    remedy: 'give one that `ip link` shows, or the start of several with a star, as veth*',
    exitCode: exitCodes.usage,
  },
  'transparent-ports': {
    message: '--ports {value} is no list of ports',
    remedy: 'write it like 80,443, or all for every port of TCP',
    exitCode: exitCodes.usage,
  },
  'policy-file-restless': {
    message: 'the policy file {file} changes all the time, so that no look at it finds what the one before found',
    remedy:
      'write it less often, or under another name and rename it: it is taken when two looks a tenth of a second apart agree',
    exitCode: exitCodes.usage,
  },
  'front-not-served': {
    message: 'Envoy does not serve the certificate in {dir}',
    remedy: 'look at its last lines above; the key may be of a kind that it does not take',
    exitCode: exitCodes.failed,
  },
  'memory-too-small': {
    message: 'the control group of this process has {limit} of memory, and a gateway needs at least {needed}',
    remedy: 'raise the limit of the container or the service',
    exitCode: exitCodes.environment,
  },
  'log-missing': {
    message: 'the state folder {folder} keeps no access records',
    remedy: 'start `leafgate up`, or name the folder of a gateway with --state',
    exitCode: exitCodes.usage,
  },
  'log-unreadable': {
    message: 'the access log {path} cannot be read: {reason}',
    remedy: 'read it as the user that runs the gateway',
    exitCode: exitCodes.environment,
  },
  'probe-no-gateway': {
    message: 'no gateway runs on the state folder {folder}, and no other was named',
    remedy: 'start `leafgate up`, give the gateway with --proxy URL, or give --no-proxy to connect without one',
    exitCode: exitCodes.usage,
  },
  'probe-listen-unguarded': {
    message: '--listen {value} lets other machines make this one fetch',
    remedy: 'listen on 127.0.0.1, or name the host that callers use with --allow-host, as for a Service',
    exitCode: exitCodes.usage,
  },
  'metrics-not-local': {
    message: '{setting} {value} can be reached from other machines',
    remedy: 'serve metrics on 127.0.0.1, on [::1] or on a unix socket',
    exitCode: exitCodes.usage,
  },
  'sds-place-missing': {
    message: 'neither --gateway nor both of --pool and --listen are given',
    remedy: 'give --pool FILE and --listen unix:PATH or tcp:ADDRESS:PORT, or in a pod of a gateway --gateway DIR',
    exitCode: exitCodes.usage,
  },
  'sds-gateway-alone': {
    message: '{options} cannot be given beside --gateway, whose files say it',
    remedy: 'leave it out, and change the EgressGateway instead',
    exitCode: exitCodes.usage,
  },
  'sidecar-file-unreadable': {
    message: '{path} cannot be read: {detail}',
    remedy: 'give with --gateway the folder where the ConfigMap of the gateway is mounted; the controller writes it',
    exitCode: exitCodes.environment,
  },
  'drain-not-asked': {
    message: 'the sidecar of this gateway cannot be asked to drain: {detail}',
    remedy: 'call this in the container of `leafgate sds --gateway`, while it runs',
    exitCode: exitCodes.failed,
  },
  'sds-listen-unknown': {
    message: '--listen {value} is neither unix:PATH nor tcp:ADDRESS:PORT',
    remedy:
      'give a unix socket, as unix:/run/leafgate/sds.sock, or say tcp: for a port with mutual TLS, as tcp:[::]:8443',
    exitCode: exitCodes.usage,
  },
  'sds-option-needs-tcp': {
    message: '{options} given beside a unix socket, which is guarded by who may open it',
    remedy: 'leave it out, or listen on tcp:ADDRESS:PORT',
    exitCode: exitCodes.usage,
  },
  'certificate-file-unreadable': {
    message: '{source} cannot be read: {detail}',
    remedy: 'give a PEM file that this user may read',
    exitCode: exitCodes.usage,
  },
  'origin-ca-is-gateway': {
    message: '--origin-ca {file} holds a CA of this gateway',
    remedy: 'take it out: the gateway must never accept an origin that its own CA signed',
    exitCode: exitCodes.usage,
  },
  'self-check-failed': {
    message: 'the self-check failed: {detail}',
    remedy: 'run again with --verbose to see what Envoy says',
    exitCode: exitCodes.failed,
  },
  'envoy-ended': {
    message: 'Envoy ended by itself ({detail})',
    remedy: 'look at its last lines above; start the gateway again',
    exitCode: exitCodes.failed,
  },
  'project-what-missing': {
    message: 'nothing says which files are wanted',
    remedy: 'give --volume FILE for one actor, or --actors DIR for all of a node',
    exitCode: exitCodes.usage,
  },
  'project-what-twice': {
    message: '--volume and --actors exclude each other',
    remedy: 'give one of them',
    exitCode: exitCodes.usage,
  },
  'project-once-for-one': {
    message: '--once is for one actor, and --actors for all of a node',
    remedy: 'give --volume FILE with --once, or leave --once out',
    exitCode: exitCodes.usage,
  },
  'project-folders-same': {
    message: '--actors and --dir are the same folder, {folder}',
    remedy: 'give another folder for the files: what is written must not stand among what is asked for',
    exitCode: exitCodes.usage,
  },
  'project-actors-unreadable': {
    message: 'the folder of volume files {folder} cannot be read: {detail}',
    remedy: 'give with --actors a folder that this user may read',
    exitCode: exitCodes.environment,
  },
  'project-roots-unreadable': {
    message: 'the file system {folder}, whose roots are asked for, cannot be looked into: {detail}',
    remedy: 'give with --roots-from the folder where that file system begins',
    exitCode: exitCodes.environment,
  },
  usage: {
    message: '{detail}',
    remedy: 'see `leafgate {command}--help`',
    exitCode: exitCodes.usage,
  },
});
