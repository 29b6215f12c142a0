// Handshakes by others than Node with `leafgate sds` as people run it: openssl and Go, each with a certificate of every kind.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MadeCa } from '../support/ca-workshop.ts';
import { channelFilesOf, clientName, serverName, writeChannelFiles } from '../support/channel-workshop.ts';
import {
  caPem,
  hoursAgo,
  issueCredential,
  makeCurrentCa,
  type CredentialRequest,
} from '../support/credential-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { runCommand, type CommandResult } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { startSdsCommand, writePool, type SdsCommandUnderTest } from '../support/sds-command-under-test.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';
import { waitFor } from '../support/wait-for.ts';

const uri = 'spiffe://channel.test/envoy';
const common = 'last-resort';

type Peer = {
  readonly title: string;
  /** undefined: it shows none */
  readonly certificate: CredentialRequest | undefined;
  readonly isOfOtherCa?: boolean;
  readonly isTls12?: boolean;
  /** what the server counts */
  readonly counted: string;
};

const admitted = (by: string): string => `leafgate_sds_peers_admitted_total{by="${by}"}`;
const refused = (reason: string): string => `leafgate_sds_peers_refused_total{reason="${reason}"}`;
const listed = { dnsNames: [clientName], purposes: ['client'] } as const;

const peers: readonly Peer[] = [
  { title: 'a listed DNS name', certificate: listed, counted: admitted('dns') },
  { title: 'a listed URI', certificate: { uris: [uri], purposes: ['client'] }, counted: admitted('uri') },
  {
    title: 'a listed common name alone',
    certificate: { commonName: common, purposes: ['client'] },
    counted: admitted('common-name'),
  },
  { title: 'no certificate', certificate: undefined, counted: refused('no-certificate') },
  { title: 'one of another CA', certificate: listed, isOfOtherCa: true, counted: refused('wrong-ca') },
  {
    title: 'one that has expired',
    certificate: { ...listed, notBefore: hoursAgo(5), notAfter: hoursAgo(1) },
    counted: refused('expired'),
  },
  {
    title: 'one that is not valid yet',
    certificate: { ...listed, notBefore: hoursAgo(-1), notAfter: hoursAgo(-2) },
    counted: refused('not-yet-valid'),
  },
  {
    title: 'one for servers alone',
    certificate: { ...listed, purposes: ['server'] },
    counted: refused('not-for-clients'),
  },
  {
    title: 'a name that is not listed',
    certificate: { ...listed, dnsNames: ['other.test'] },
    counted: refused('not-listed'),
  },
  { title: 'TLS 1.2', certificate: listed, isTls12: true, counted: refused('tls-too-old') },
];

describeWithTools('peers of the SDS port', ['openssl', 'sds-load'], ({ openssl, 'sds-load': load }) => {
  let temp: TempFolder;
  let sds: SdsCommandUnderTest;
  let ca: MadeCa;
  let otherCa: MadeCa;
  let leafCaFile: string;

  beforeAll(async () => {
    temp = createTempFolder();
    ca = makeCurrentCa('channel');
    otherCa = makeCurrentCa('other');
    writeChannelFiles(temp.file('tls'), channelFilesOf(ca));
    const { file: poolFile, ca: leafCa } = writePool(temp.file('pool.json'));
    leafCaFile = temp.file('leaf-ca.pem');
    writeFileSync(leafCaFile, leafCa);
    const clients = [clientName, uri, common].flatMap((name) => ['--allowed-san', name]);
    const tcp = ['--tls-dir', temp.file('tls'), '--server-name', serverName, ...clients];
    sds = await startSdsCommand({ folder: temp, poolFile, tcp });
  });
  afterAll(async () => {
    await sds.stop();
    temp.remove();
  });

  const run = (command: string, args: readonly string[], input = ''): Promise<CommandResult> =>
    runCommand(command, args, { env: scrubbedEnvironment(temp.path), deadlineMs: 15_000, input });

  /** a folder with the certificate of that peer; an empty one where it shows none */
  function folderOf({ title, certificate, isOfOtherCa = false }: Peer): string {
    const dir = temp.file(`peer ${title}`);
    const shown = certificate === undefined ? undefined : issueCredential(isOfOtherCa ? otherCa : ca, certificate);
    writeChannelFiles(dir, {
      'ca.crt': caPem(ca),
      ...(shown && { 'tls.crt': shown.certificatePem, 'tls.key': shown.keyPem }),
    });
    return dir;
  }

  async function isCounted(peer: Peer, knock: (dir: string) => Promise<CommandResult>): Promise<CommandResult> {
    const [before, minted] = [await sds.metric(peer.counted), await sds.metric('leafgate_leaves_minted_total')];
    const result = await knock(folderOf(peer));
    await waitFor(`${peer.title} to be counted`, async () => (await sds.metric(peer.counted)) > before);
    const isMinted = (await sds.metric('leafgate_leaves_minted_total')) > minted;
    if (peer.counted.includes('refused')) expect(isMinted).toBe(false);
    return result;
  }

  describe('openssl s_client', () => {
    test.each(peers)('with $title', async (peer) => {
      const result = await isCounted(peer, (dir) => {
        const shown = peer.certificate === undefined ? [] : ['-cert', `${dir}/tls.crt`, '-key', `${dir}/tls.key`];
        const version = peer.isTls12 === true ? ['-tls1_2'] : [];
        return run(openssl, [
          ...['s_client', '-connect', `127.0.0.1:${sds.port}`, '-servername', serverName, '-alpn', 'h2'],
          ...['-CAfile', `${dir}/ca.crt`, '-verify_return_error', ...shown, ...version],
        ]);
      });
      if (peer.isTls12 === true) expect(result.stderr).toContain('alert protocol version');
      else expect(result.stdout).toContain('TLSv1.3');
      // no session that could be used again in place of a certificate
      expect(result.stdout).not.toMatch(/Reused/);
    });
  });

  describe('Go', () => {
    test.each(peers)('with $title', async (peer) => {
      const result = await isCounted(peer, (dir) =>
        run(load, [
          ...['--address', `127.0.0.1:${sds.port}`, '--server-name', serverName, '--tls', dir],
          ...(peer.isTls12 === true ? ['--tls12'] : []),
          ...['--names', '3', '--prefix', peer.title.replaceAll(' ', '-').toLowerCase(), '--verify', leafCaFile],
        ]),
      );
      if (peer.counted.includes('admitted')) {
        expect(result.status, result.stderr).toBe(0);
        expect(JSON.parse(result.stdout)).toMatchObject({ granted: 3, bad: 0 });
      } else {
        expect(result.status).not.toBe(0);
        expect(result.stderr + result.stdout).not.toMatch(/listed|expired|\bCA\b/);
      }
    });
  });
});
