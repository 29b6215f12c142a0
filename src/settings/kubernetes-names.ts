// What Kubernetes takes as names: objects, labels, signers, keys of ConfigMaps. The same rules as its API server has
// (apimachinery pkg/api/validate/content, kubernetes pkg/apis/core/validation/names.go, release 1.37). Pure.

/** a rule for a text, and how to say it to a person */
export type TextRule = {
  readonly isRight: (text: string) => boolean;
  readonly expected: string;
  readonly example: string;
};

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const serviceLabel = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const dataKey = /^[-._a-zA-Z0-9]{1,253}$/;
const labelName = /^[a-zA-Z0-9](?:[-._a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/;

const maxSubdomainChars = 253;
/** a domain, a slash, and a path of a subdomain with one label more */
const maxSignerChars = 571;
/** a label of DNS, less eleven for what is called after a gateway, like its SDS service */
const maxGatewayNameChars = 52;

function isSubdomain(text: string): boolean {
  return text.length <= maxSubdomainChars && subdomain.test(text);
}

/** `<domain>/<path>` of a signer; undefined for what is no signer name */
function signerParts(text: string): { readonly domain: string; readonly path: string } | undefined {
  const [domain = '', path = '', ...more] = text.split('/');
  const labels = domain.split('.');
  const isDomain = domain.length <= maxSubdomainChars && labels.length >= 2 && labels.every((part) => label.test(part));
  const isPath = path.split('.').every(isSubdomain);
  return more.length === 0 && isDomain && isPath && text.length <= maxSignerChars ? { domain, path } : undefined;
}

/** Kubernetes keeps these to itself (KEP-3257) */
function isReservedDomain(domain: string): boolean {
  return ['kubernetes.io', 'k8s.io'].some((own) => domain === own || domain.endsWith(`.${own}`));
}

/** The one name that the API server accepts for a bundle of that signer. */
export function bundleObjectName(signerName: string, name: string): string {
  return `${signerName.replaceAll('/', ':')}:${name}`;
}

const lettersOfNames =
  'small letters, digits, hyphens and dots, at most 253, that begins and ends with a letter or a digit';

export const objectNameRule: TextRule = {
  isRight: isSubdomain,
  expected: `a name of ${lettersOfNames}`,
  example: 'egress-ca-pool',
};

export const namespaceRule: TextRule = {
  isRight: (text) => label.test(text),
  expected: 'the name of a namespace: small letters, digits and hyphens, at most 63',
  example: 'egress',
};

/** Services and certificates carry it as a label of their DNS names */
export const gatewayNameRule: TextRule = {
  isRight: (text) => text.length <= maxGatewayNameChars && serviceLabel.test(text),
  expected: `a name of small letters, digits and hyphens, at most ${maxGatewayNameChars}, that begins with a letter`,
  example: 'egress',
};

export const signerNameRule: TextRule = {
  isRight: (text) => {
    const parts = signerParts(text);
    return parts !== undefined && !isReservedDomain(parts.domain);
  },
  expected: 'a signer name, <domain>/<path>, of a domain of your own with at least one dot',
  example: 'egress.example.com/mitm',
};

/** whose bundles somebody reads: Kubernetes' own too */
export const readSignerNameRule: TextRule = {
  isRight: (text) => signerParts(text) !== undefined,
  expected: 'a signer name, <domain>/<path>, whose domain has at least one dot',
  example: 'egress.example.com/mitm',
};

/** `<name>`, or `<domain>:<path>:<name>` of a bundle that has a signer */
export const bundleObjectNameRule: TextRule = {
  isRight: (text) => {
    const [domain = '', path, name, ...more] = text.split(':');
    if (path === undefined) return isSubdomain(domain);
    return (
      more.length === 0 && name !== undefined && isSubdomain(name) && signerParts(`${domain}/${path}`) !== undefined
    );
  },
  expected: 'the name of a ClusterTrustBundle, <name> or <signer domain>:<signer path>:<name>',
  example: 'egress.example.com:mitm:main',
};

export const dataKeyRule: TextRule = {
  isRight: (text) => dataKey.test(text) && text !== '.' && !text.startsWith('..'),
  expected: 'a key of letters, digits, hyphens, dots and underscores, at most 253',
  example: 'ca.crt',
};

export const labelKeyRule: TextRule = {
  isRight: (text) => {
    const [one = '', two, ...more] = text.split('/');
    if (more.length > 0) return false;
    return two === undefined ? labelName.test(one) : isSubdomain(one) && labelName.test(two);
  },
  expected: 'a label key, <name> or <domain>/<name>',
  example: 'example.com/team',
};

export const labelValueRule: TextRule = {
  isRight: (text) => text === '' || labelName.test(text),
  expected: 'a label value of letters, digits, hyphens, dots and underscores, at most 63',
  example: 'payments',
};
