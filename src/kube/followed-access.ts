// An access whose token, CA and client certificate are read again once a minute and whenever a server refused them. What
// went bad meanwhile is told, and the last good one stays. Must not know where the description came from.
import { seconds } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { LeafgateError } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { systemTrust } from '../transport/system-trust.ts';
import { readCredential, readToken, readTrust } from './access-material.ts';
import type { Material } from './access-material.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { followValue } from './followed-value.ts';
import type { FollowedValue } from './followed-value.ts';

export type AccessDescription = {
  readonly server: string;
  readonly namespace: string | undefined;
  /** undefined: the roots of the machine */
  readonly authority: Material | undefined;
  /** replaces the server's host in SNI and in verification */
  readonly serverName: string | undefined;
  readonly token: Material | undefined;
  readonly credential: { readonly certificate: Material; readonly key: Material } | undefined;
};

export type AccessOptions = { readonly clock: Clock; readonly log: Log };

/** client-go re-reads a token as often (transport/token_source.go) */
const maxAgeMs = seconds(60);

export function followAccess(description: AccessDescription, { clock, log }: AccessOptions): ClusterAccess {
  const { authority, serverName, token, credential } = description;
  const follow = <T>(what: string, read: () => Promise<T>): FollowedValue<T> =>
    followValue({ clock, maxAgeMs, read, onKept: (thrown) => tellKept(log, what, thrown) });
  const trust = follow('CA', () =>
    authority === undefined ? systemAuthority(serverName) : readTrust(authority, serverName),
  );
  const bearer = token === undefined ? undefined : follow('token', () => readToken(token));
  const shown =
    credential === undefined
      ? undefined
      : follow('client certificate', () => readCredential(credential.certificate, credential.key, clock.now()));
  return {
    server: description.server,
    namespace: description.namespace,
    now: async () => {
      const [anchors, text, identity] = await Promise.all([trust.current(), bearer?.current(), shown?.current()]);
      return {
        trust: anchors,
        ...(text === undefined ? {} : { token: text }),
        ...(identity === undefined ? {} : { credential: identity }),
      };
    },
    expire: () => {
      for (const value of [trust, bearer, shown]) value?.expire();
    },
  };
}

async function systemAuthority(serverName: string | undefined) {
  const roots = await systemTrust(serverName === undefined ? {} : { serverName });
  return roots.current();
}

function tellKept(log: Log, what: string, thrown: unknown): void {
  const { code, message, remedy } = LeafgateError.from(thrown);
  log.error('what opens the Kubernetes API went bad and its last good state stays in use', {
    reason: what,
    code,
    detail: message,
    remedy,
  });
}
