// The settings that are texts, switches and variables; each text has a parser of its own.
import type { SettingCommand, SwitchSetting, TextSetting, VariableSetting } from './setting-types.ts';

const gateway: readonly SettingCommand[] = ['up', 'run', 'doctor'];
const everywhere: readonly SettingCommand[] = [
  ...(['up', 'run', 'sds', 'controller', 'project', 'probe', 'status', 'doctor', 'policy', 'log'] as const),
];
const controller: readonly SettingCommand[] = ['controller'];
const onState: readonly SettingCommand[] = ['up', 'run', 'env', 'status', 'doctor', 'policy', 'log'];

export const textSettings = {
  listen: text({
    name: 'listen',
    group: 'listening',
    commands: gateway,
    placeholder: 'ADDRESS:PORT',
    default: '127.0.0.1:3128',
    reason: 'where clients connect; an address other machines can reach needs --allow-from',
  }),
  proxyCert: text({
    name: 'proxy-cert',
    group: 'listening',
    commands: gateway,
    placeholder: 'DIR',
    reason: 'folder with tls.crt and tls.key: --listen speaks TLS, and clear only to this machine; followed',
  }),
  listenTls: text({
    name: 'listen-tls',
    group: 'listening',
    commands: gateway,
    placeholder: 'ADDRESS:PORT',
    reason: 'speaks TLS there instead, so that --listen stays clear; needs --proxy-cert',
  }),
  clientCa: text({
    name: 'client-ca',
    group: 'listening',
    commands: gateway,
    placeholder: 'FILE',
    reason: 'PEM; verifies the certificates of clients, whose URI then names the actor; needs --proxy-cert; followed',
  }),
  transparent: text({
    name: 'transparent',
    group: 'listening',
    commands: ['up', 'doctor'],
    placeholder: 'PORT',
    reason: 'takes connections that the system redirects there (`leafgate transparent rules`), on every address; Linux',
  }),
  tlsDir: text({
    name: 'tls-dir',
    group: 'listening',
    commands: ['sds'],
    placeholder: 'DIR',
    default: '/etc/leafgate/tls',
    reason: 'folder with tls.crt, tls.key and ca.crt, for --listen tcp:…; followed',
  }),
  serverName: text({
    name: 'server-name',
    group: 'listening',
    commands: ['sds'],
    placeholder: 'NAME',
    reason:
      'DNS name that Envoys ask for: a tls.crt that is not for it is refused; without it, the name is not checked',
  }),
  allowedSan: repeatable({
    name: 'allowed-san',
    group: 'listening',
    commands: ['sds'],
    placeholder: 'NAME',
    reason:
      'DNS name or URI, exactly as in the certificate of a client that may connect by TCP; a common name, the last resort, counts where it has neither',
  }),
  allowFrom: repeatable({
    name: 'allow-from',
    group: 'listening',
    commands: gateway,
    placeholder: 'CIDR',
    reason: 'networks that may connect; everyone else is closed at once',
  }),
  policy: text({
    name: 'policy',
    group: 'policy',
    commands: ['up', 'run', 'sds', 'doctor'],
    placeholder: 'FILE',
    reason: 'rules that decide what is intercepted, relayed or refused; followed, see docs/policy.md',
  }),
  allow: repeatable({
    name: 'allow',
    group: 'policy',
    commands: ['up', 'run', 'sds', 'doctor'],
    placeholder: 'HOST[:PORT]',
    reason: 'is intercepted, or *.suffix for all below; what no flag names is then denied (for sds: may be minted)',
  }),
  deny: repeatable({
    name: 'deny',
    group: 'policy',
    commands: gateway,
    placeholder: 'HOST[:PORT]',
    reason: 'is refused',
  }),
  relay: repeatable({
    name: 'relay',
    group: 'policy',
    commands: gateway,
    placeholder: 'HOST[:PORT]',
    reason: 'has its TLS forwarded unread, for clients that pin certificates or bring their own',
  }),
  tcp: repeatable({
    name: 'tcp',
    group: 'policy',
    commands: gateway,
    placeholder: 'HOST[:PORT]',
    reason: 'has anything forwarded unread, whatever the first bytes are',
  }),
  resolve: repeatable({
    name: 'resolve',
    group: 'destinations',
    commands: gateway,
    placeholder: 'HOST:PORT:ADDRESS',
    reason:
      'connects to this address for that host (* is any name) and port; the name stays in SNI, Host and verification',
  }),
  allowDestination: repeatable({
    name: 'allow-destination',
    group: 'destinations',
    commands: gateway,
    placeholder: 'CIDR',
    reason: 'an exception to the guard that refuses private, loopback, link-local and metadata addresses',
  }),
  dns: repeatable({
    name: 'dns',
    group: 'destinations',
    commands: gateway,
    placeholder: 'ADDRESS[:PORT]',
    reason: 'DNS servers that origins are looked up with, in place of those of the system',
  }),
  originCa: repeatable({
    name: 'origin-ca',
    group: 'destinations',
    commands: gateway,
    placeholder: 'FILE',
    reason: 'PEM certificates that origins may be signed by, beside the roots of the system',
  }),
  namespace: repeatable({
    name: 'namespace',
    group: 'cluster',
    commands: controller,
    placeholder: 'NAMESPACE',
    reason: 'follows the EgressGateways of this namespace; its Role there names what it may read; once or more',
  }),
  signer: repeatable({
    name: 'signer',
    group: 'cluster',
    commands: controller,
    placeholder: 'NAMESPACE=DOMAIN/*',
    reason:
      'signers that gateways of a namespace may publish under: all of a domain, or one, as NAMESPACE=DOMAIN/PATH; once or more',
  }),
  clusterDomain: text({
    name: 'cluster-domain',
    group: 'cluster',
    commands: controller,
    placeholder: 'DOMAIN',
    default: 'cluster.local',
    reason: 'ends the long DNS name that the certificate of a gateway needs',
  }),
  kubeconfig: text({
    name: 'kubeconfig',
    group: 'cluster',
    commands: ['controller', 'project'],
    placeholder: 'FILE',
    reason: 'how to reach the API server; else KUBECONFIG, the service account of the pod, or ~/.kube/config',
  }),
  leaseName: text({
    name: 'lease-name',
    group: 'cluster',
    commands: controller,
    placeholder: 'NAME',
    default: 'leafgate-controller',
    reason: 'the Lease that one controller of several holds, and works',
  }),
  leaseNamespace: text({
    name: 'lease-namespace',
    group: 'cluster',
    commands: controller,
    placeholder: 'NAMESPACE',
    reason: 'where the Lease is; else the namespace of the pod or of the kubeconfig, else the first --namespace',
  }),
  without: repeatable({
    name: 'without',
    group: 'actors',
    commands: ['run', 'env'],
    placeholder: 'RUNTIME',
    reason: 'sets no variables for these runtimes, such as java,node (docs/environment.md); proxy: trust alone',
  }),
  state: text({
    name: 'state',
    group: 'files',
    commands: onState,
    placeholder: 'DIR',
    default: '$XDG_STATE_HOME/leafgate',
    reason: 'folder that keeps the CA pool, the trust files and the sockets',
  }),
  envoy: text({
    name: 'envoy',
    group: 'files',
    commands: gateway,
    placeholder: 'FILE',
    reason: 'the Envoy to start, from 1.40 on; else the one on PATH, else one is installed for the user',
  }),
  metrics: text({
    name: 'metrics',
    group: 'listening',
    commands: ['up', 'sds', 'controller', 'project', 'doctor'],
    placeholder: 'ADDRESS:PORT | unix:PATH',
    reason: 'serves /metrics, /livez and /readyz there',
  }),
} as const;

export const switchSettings = {
  json: toggle({ name: 'json', group: 'output', commands: everywhere, reason: 'one JSON object a line on stdout' }),
  verbose: toggle({ name: 'verbose', group: 'output', commands: everywhere, reason: 'debug lines and stack traces' }),
  allowAny: toggle({ name: 'allow-any', group: 'policy', commands: ['sds'], reason: 'every name may be minted' }),
  allowAnyClient: toggle({
    name: 'allow-any-client',
    group: 'listening',
    commands: ['sds'],
    reason: 'every certificate that ca.crt verifies may connect by TCP, in place of --allowed-san',
  }),
  allowEd25519: toggle({
    name: 'allow-ed25519',
    group: 'minting',
    commands: ['up', 'run', 'sds', 'doctor'],
    reason: 'lets an Ed25519 CA sign, which browsers and mbedTLS refuse',
  }),
} as const;

/** Choices that no flag makes: a variable that stands in a manifest is seen by whoever reads it. */
export const variableSettings = {
  sdsInsecure: variable({
    name: 'sds-insecure',
    group: 'listening',
    commands: ['sds'],
    reason:
      '`true` lets --listen tcp:… speak plaintext where --tls-dir has none of its files, and where a gateway (--gateway) has `spec.sds.tls.enabled: false` too: leaf keys can then be read on the way',
  }),
} as const;

function variable(row: Omit<VariableSetting, 'kind'>): VariableSetting {
  return { kind: 'variable', ...row };
}

function text(row: Omit<TextSetting, 'kind' | 'isRepeatable'>): TextSetting {
  return { kind: 'text', isRepeatable: false, ...row };
}

function repeatable(row: Omit<TextSetting, 'kind' | 'isRepeatable' | 'default'>): TextSetting {
  return { kind: 'text', isRepeatable: true, ...row };
}

function toggle(row: Omit<SwitchSetting, 'kind'>): SwitchSetting {
  return { kind: 'switch', ...row };
}
