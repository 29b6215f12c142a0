// What an API server was asked, by whom, as its own audit log has it: how a test counts the requests of a client that it does
// not own. Reads the file whole each time.
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../wait-for.ts';
import type { RawApi } from './raw-api.ts';

export type ApiRequest = {
  /** of Kubernetes: get, list, watch, create, update, patch, delete */
  readonly verb: string;
  /** '' for the core group; all four undefined where no resource is asked for, as in discovery */
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uri: string;
  /** undefined as long as nothing is answered */
  readonly status?: number;
  readonly at: string;
};

/**
 * A request stands in the log before it is handled, so whatever has been answered is in there. The server's own requests
 * are left out.
 */
const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  rules: [{ level: 'None', users: ['system:apiserver'] }, { level: 'Metadata' }],
};

/** written beside the log */
export function auditFlags(folder: string): readonly string[] {
  writeFileSync(join(folder, 'audit-policy.json'), JSON.stringify(policy));
  return [
    `--audit-policy-file=${join(folder, 'audit-policy.json')}`,
    `--audit-log-path=${auditLogOf(folder)}`,
    // no rotation
    '--audit-log-maxsize=1000',
  ];
}

/** Every request of `user` (`system:serviceaccount:NS:NAME` for one, '' for who was not let in), oldest first, until now. */
export async function readRequestsOf(user: string, folder: string, admin: RawApi): Promise<readonly ApiRequest[]> {
  const marker = `/version?marker=${randomUUID()}`;
  await admin.get(marker);
  const text = await waitFor('the audit log to be written', () => {
    const sofar = readFileSync(auditLogOf(folder), 'utf8');
    return sofar.includes(marker) ? sofar : undefined;
  });
  const requests = new Map<string, ApiRequest>();
  // the last piece is a line that is not whole yet, or nothing
  for (const line of text.split('\n').slice(0, -1)) {
    const event = JSON.parse(line) as AuditEvent;
    if ((event.user.username ?? '') === user) requests.set(event.auditID, requestOf(event));
  }
  return [...requests.values()];
}

type AuditEvent = {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  /** without a name: 401 */
  readonly user: { readonly username?: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code: number };
  readonly requestReceivedTimestamp: string;
};

function requestOf({ verb, requestURI, objectRef, responseStatus, requestReceivedTimestamp }: AuditEvent): ApiRequest {
  const { apiGroup: group = '', ...place } = objectRef ?? {};
  return {
    ...{ verb, uri: requestURI, at: requestReceivedTimestamp },
    ...(objectRef === undefined ? {} : { group, ...place }),
    ...(responseStatus === undefined ? {} : { status: responseStatus.code }),
  };
}

function auditLogOf(folder: string): string {
  return join(folder, 'audit.log');
}
