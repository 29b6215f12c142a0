// A client with its files (CA, token) before a scripted API server: what most tests of the Kubernetes room stand on.
import { writeFileSync } from 'node:fs';
import { systemClock } from '../../src/clock.ts';
import type { Clock, DurationMs } from '../../src/clock.ts';
import type { ClusterAccess } from '../../src/kube/cluster-access.ts';
import { createKubeClient } from '../../src/kube/create-kube-client.ts';
import { followAccess } from '../../src/kube/followed-access.ts';
import type { AccessDescription } from '../../src/kube/followed-access.ts';
import type { KubeClient, KubeObject, KubeResource } from '../../src/kube/kube-types.ts';
import type { Log } from '../../src/observe/log.ts';
import { startScriptedApiServer } from './scripted-api-server.ts';
import type { ApiScript, ScriptedApiServer } from './scripted-api-server.ts';
import { createTempFolder } from './temp-folder.ts';
import type { TempFolder } from './temp-folder.ts';
import { createTestAuthority, issueServerCertificate } from './test-certificates.ts';
import type { TestAuthority } from './test-certificates.ts';

export const secrets: KubeResource = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  isNamespaced: true,
};

export const bundles: KubeResource = {
  group: 'certificates.k8s.io',
  version: 'v1',
  plural: 'clustertrustbundles',
  kind: 'ClusterTrustBundle',
  isNamespaced: false,
};

export const pool = { resource: secrets, namespace: 'egress', name: 'pool' } as const;

export function secretAt(resourceVersion: string, more: object = {}): KubeObject {
  const metadata = { name: 'pool', namespace: 'egress', uid: 'u1', resourceVersion };
  return { apiVersion: 'v1', kind: 'Secret', metadata, ...more };
}

export type LoggedLine = { readonly level: string; readonly sentence: string; readonly fields: object };

export function createListeningLog(lines: LoggedLine[] = []): Log & { readonly lines: readonly LoggedLine[] } {
  const at =
    (level: string) =>
    (sentence: string, fields: object = {}): void =>
      void lines.push({ level, sentence, fields });
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: () => createListeningLog(lines),
  };
}

export type KubeWorld = {
  readonly server: ScriptedApiServer;
  readonly authority: TestAuthority;
  readonly access: ClusterAccess;
  readonly client: KubeClient;
  readonly log: ReturnType<typeof createListeningLog>;
  readonly folder: TempFolder;
  readonly writeToken: (text: string) => void;
  readonly writeCa: (pem: string) => void;
  close(): Promise<void>;
};

export type KubeWorldOptions = {
  readonly script?: ApiScript;
  readonly clock?: Clock;
  readonly callTimeoutMs?: DurationMs;
  readonly clientCaPem?: string;
  readonly access?: Partial<AccessDescription>;
};

export async function startKubeWorld(options: KubeWorldOptions = {}): Promise<KubeWorld> {
  const { script, clientCaPem, callTimeoutMs, clock = systemClock } = options;
  const authority = createTestAuthority();
  const certificate = issueServerCertificate(authority, { names: ['localhost'] });
  const server = await startScriptedApiServer({
    certificate,
    ...(script === undefined ? {} : { script }),
    ...(clientCaPem === undefined ? {} : { clientCaPem }),
  });
  const folder = createTempFolder();
  const log = createListeningLog();
  const writeToken = (text: string): void => writeFileSync(folder.file('token'), text);
  const writeCa = (pem: string): void => writeFileSync(folder.file('ca.crt'), pem);
  writeToken('first-token\n');
  writeCa(authority.pem);
  const description: AccessDescription = {
    server: server.url,
    namespace: undefined,
    authority: { kind: 'file', path: folder.file('ca.crt') },
    serverName: undefined,
    token: { kind: 'file', path: folder.file('token') },
    credential: undefined,
    ...options.access,
  };
  const access = followAccess(description, { clock, log });
  const client = createKubeClient({ access, clock, ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }) });
  return {
    server,
    authority,
    access,
    client,
    log,
    folder,
    writeToken,
    writeCa,
    close: async () => {
      await client.close();
      await server.close();
      folder.remove();
    },
  };
}
