// The names that the proxy's certificate must have: those by which actors in the cluster reach the gateway's Service. They
// can be computed before any Secret exists. Pure.

/** `<name>.<namespace>.svc` and the same with the cluster's domain */
export function requiredDnsNames(name: string, namespace: string, clusterDomain: string): readonly string[] {
  const short = `${name}.${namespace}.svc`;
  return [short, `${short}.${clusterDomain}`];
}

/** of the Service in front of a gateway's SDS servers: what Envoy asks them for, and verifies */
export function sdsServerName(name: string, namespace: string, clusterDomain: string): string {
  return `${name}-sds.${namespace}.svc.${clusterDomain}`;
}
