// Which signers the gateways of a namespace may publish under, as whoever installs the controller says it. A tenant cannot
// widen them. Pure.

/** `path` undefined: every path of the domain */
export type SignerBound = { readonly namespace: string; readonly domain: string; readonly path: string | undefined };

export function isSignerAllowed(bounds: readonly SignerBound[], namespace: string, signerName: string): boolean {
  const slash = signerName.indexOf('/');
  const [domain, path] = [signerName.slice(0, slash), signerName.slice(slash + 1)];
  return bounds.some(
    (bound) =>
      bound.namespace === namespace && bound.domain === domain && (bound.path === undefined || bound.path === path),
  );
}

/** as it stands after `--signer NS=`, and in a rule for the verb attest */
export function boundText({ domain, path }: SignerBound): string {
  return `${domain}/${path ?? '*'}`;
}
