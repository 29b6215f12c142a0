// What zlint and pkilint find in our certificates is exactly what docs/leaf-findings.md lists, and both see a fault that
// is put in, so that their silence means something.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { epoch } from '../../src/clock.ts';
import { authorityKeyIdExtension, extension } from '../../src/x509/encode-extensions.ts';
import { bitString } from '../../src/x509/forge-asn1.ts';
import { encodePem } from '../../src/x509/pem.ts';
import { acceptedOf, readAcceptedFindings } from '../support/accepted-findings.ts';
import { makeCa } from '../support/ca-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { writeLeafSamples, type LeafSample } from '../support/leaf-samples.ts';
import { bentLeaf, type LeafBend } from '../support/leaf-workshop.ts';
import { runCommand } from '../support/run-command.ts';
import { scrubbedEnvironment } from '../support/scrubbed-environment.ts';
import { createTempFolder, type TempFolder } from '../support/temp-folder.ts';

let folder: TempFolder;
let samples: readonly LeafSample[];
beforeAll(async () => {
  folder = createTempFolder();
  samples = await writeLeafSamples(folder);
});
afterAll(() => folder.remove());

const run = (tool: string, ...args: readonly string[]) =>
  runCommand(tool, args, { env: scrubbedEnvironment(folder.path) });

/** a faulty leaf and its CA as files */
function writeBent(bend: LeafBend): { leaf: string; issuer: string } {
  const ca = makeCa();
  const der = bentLeaf({ ca, host: 'api.example.com', now: epoch(Date.now()) }, bend);
  const [leaf, issuer] = [folder.file('bent-leaf.pem'), folder.file('bent-issuer.pem')];
  writeFileSync(leaf, encodePem('CERTIFICATE', der));
  writeFileSync(issuer, encodePem('CERTIFICATE', ca.certificate.der));
  return { leaf, issuer };
}

const wrongAuthority: LeafBend = { parts: { authority: authorityKeyIdExtension(Buffer.from('another key')) } };
const plainUsage: LeafBend = {
  parts: { usage: extension('2.5.29.15', 'plain', bitString(Uint8Array.of(0x80), 7)) },
};

function expectExactly(tool: string, found: ReadonlyMap<string, readonly string[]>): void {
  const accepted = samples.map(({ title }) => [title, [...acceptedOf(tool, title)].sort()] as const);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(accepted));
}

describeWithTools('zlint, with the RFC sources', ['zlint'], ({ zlint }) => {
  const sources = 'RFC5280,RFC5480,RFC5891,RFC8813,RFC3279';

  async function findings(file: string): Promise<readonly string[]> {
    const { stdout, stderr } = await run(zlint, '-includeSources', sources, file);
    const results = Object.entries(JSON.parse(stdout) as Record<string, { result: string }>);
    // an option that zlint does not know would make it run nothing and find nothing
    expect(results.filter(([, { result }]) => result === 'pass').length, stderr).toBeGreaterThan(20);
    return results
      .filter(([, { result }]) => !['pass', 'NA', 'NE'].includes(result))
      .map(([lint]) => lint)
      .sort();
  }

  test('finds in every leaf exactly what is listed', async () => {
    const found = new Map<string, readonly string[]>();
    for (const { title, files } of samples) found.set(title, await findings(files.leaf));
    expectExactly('zlint', found);
  });

  test('finds nothing in any CA', async () => {
    for (const { files } of samples) expect(await findings(files.root)).toEqual([]);
    for (const { files } of samples.filter(({ title }) => title.startsWith('chain'))) {
      expect(await findings(files.issuer)).toEqual([]);
    }
  });

  test('finds a key usage that is not critical', async () => {
    expect(await findings(writeBent(plainUsage).leaf)).toContain('w_ext_key_usage_not_critical');
  });
});

describeWithTools('pkilint', ['pkilint'], ({ pkilint }) => {
  const python = join(dirname(pkilint), 'python');
  const script = new URL('../support/python/lint_many.py', import.meta.url).pathname;
  type Report = { results: readonly { finding_descriptions: readonly { code: string }[] }[] };

  /** of each file, or of each pair of issuer and subject */
  async function findings(asked: readonly string[]): Promise<readonly (readonly string[])[]> {
    const { stdout, stderr } = await run(python, script, ...asked);
    expect(stderr).toBe('');
    const reports = stdout.trimEnd().split('\n');
    expect(reports).toHaveLength(asked.length);
    return reports.map((line) => {
      const { results } = JSON.parse(line) as Report;
      return results.flatMap((result) => result.finding_descriptions.map(({ code }) => code)).sort();
    });
  }
  const pair = (issuer: string, subject: string): string => `${issuer}+${subject}`;

  test('finds in every leaf exactly what is listed', async () => {
    const found = await findings(samples.map(({ files }) => files.leaf));
    expectExactly('pkilint', new Map(samples.map(({ title }, index) => [title, found[index] ?? []])));
  });

  test('finds nothing in any CA', async () => {
    const found = await findings(samples.flatMap(({ files }) => [files.root, files.issuer]));
    expect(found.flat()).toEqual([]);
  });

  test('finds nothing between a leaf and its issuer', async () => {
    const found = await findings(samples.map(({ files }) => pair(files.issuer, files.leaf)));
    expect(found.flat()).toEqual([]);
  });

  test('finds a key usage that is not critical, and an authority key id of another key', async () => {
    const usage = writeBent(plainUsage);
    expect(await findings([usage.leaf])).toEqual([expect.arrayContaining(['pkix.key_usage_extension_not_critical'])]);
    const authority = writeBent(wrongAuthority);
    expect(await findings([pair(authority.issuer, authority.leaf)])).toEqual([
      ['pkix.issuer_and_subject_key_identifier_not_equal'],
    ]);
  });
});

test('every line of the list of findings belongs to a tool and a sample that exist', () => {
  const titles = ['every leaf', ...samples.map(({ title }) => title)];
  for (const { tool, on } of readAcceptedFindings()) {
    expect(['zlint', 'pkilint', 'cryptography']).toContain(tool);
    expect(titles).toContain(on);
  }
});
