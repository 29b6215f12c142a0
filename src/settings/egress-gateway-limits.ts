// How much an EgressGateway may hold, and what holds where it says nothing. The CustomResourceDefinition has the same
// numbers; a test holds the two equal. Limits of policies are those of policy files, but for the size of an object.
import { millis } from '../clock.ts';

const minute = 60_000;
const hour = 60 * minute;

export const egressGatewayLimits = {
  /** of the bundle, beside those that Kubernetes and leafgate put there */
  labels: 32,
  /**
   * Envoy follows each with two inotify instances, and all other files with 12 (measured). Linux gives a user 128 on a node, for
   * all pods that run as the same one, and without one Envoy aborts.
   */
  clientCertificates: 16,
  hostsOfClientCertificate: 64,
  /** ranges are compared one after the other, at each connection */
  ranges: 64,
  /** c-ares asks them in turn, and a client waits five seconds */
  dnsServers: 8,
  /** a filter matcher each */
  resolve: 256,
  allowedSans: 64,
} as const;

/** zero: the bundle goes with its pool; a month is the longest overlap of two CAs */
export const retainForRange = { least: 0, most: 720 * hour, byDefault: millis(10 * minute) };

export const listenPortByDefault = 3128;
/** as cert-manager and Kubernetes' own certificates call it */
export const caBundleKeyByDefault = 'ca.crt';

/** A stop is a rollout, nobody waits at a terminal: below the thirty seconds that a pod is given where nothing is said. */
export const drainByDefault = millis(25_000);

/**
 * Clusters give pods and nodes addresses of these (RFC 1918, RFC 6598). IPv6 must be listed: a gateway that listens for it
 * does not start where the kernel has none.
 */
export const allowFromByDefault = ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'];
