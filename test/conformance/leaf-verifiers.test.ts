// OpenSSL in its strict mode, Go and Python's `cryptography` build the path from every leaf to its root, by name, and
// refuse what is wrong: another name, another root, a missing intermediate, and one fault that only they see.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { epoch } from '../../src/clock.ts';
import { encodePem } from '../../src/x509/pem.ts';
import { acceptedOf } from '../support/accepted-findings.ts';
import { makeCa } from '../support/ca-workshop.ts';
import { describeWithTools } from '../support/describe-with-tools.ts';
import { writeLeafSamples, type LeafSample } from '../support/leaf-samples.ts';
import { bentLeaf, reencoded, type LeafBend } from '../support/leaf-workshop.ts';
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

/** one question to a verifier: does this chain, for this name, end at this root? */
type Question = { readonly root: string; readonly chain: string; readonly name: string; readonly isAddress: boolean };
/** the answers, in order: `ok` or the error */
type Verifier = (questions: readonly Question[]) => Promise<readonly string[]>;

const run = (tool: string, ...args: readonly string[]) =>
  runCommand(tool, args, { env: scrubbedEnvironment(folder.path) });
const asked = ({ files, name, isAddress }: LeafSample): Question => ({
  root: files.root,
  chain: files.chain,
  name,
  isAddress,
});
const sample = (title: string): LeafSample => {
  const found = samples.find((candidate) => candidate.title === title);
  if (found === undefined) throw new Error(`no sample ${title}`);
  return found;
};

function describeVerifier(
  tool: string,
  verify: Verifier,
  seen: { readonly fault: string; readonly bend: () => Bent },
): void {
  describe(`asked by the name that was minted, ${tool}`, () => {
    test('accepts every leaf but for what is listed', async () => {
      const answers = await verify(samples.map(asked));
      for (const [index, { title }] of samples.entries()) {
        const [accepted = 'ok', ...others] = acceptedOf(tool, title);
        expect(others).toEqual([]);
        expect(`${title}: ${answers[index]}`).toMatch(new RegExp(`: ${accepted === 'ok' ? 'ok$' : `.*${accepted}`}`));
      }
    });

    test.each<[string, () => Question]>([
      ['for another host', () => ({ ...asked(sample('host')), name: 'other.example.com' })],
      ['for a host below', () => ({ ...asked(sample('host')), name: 'a.api.example.com' })],
      ['for another address', () => ({ ...asked(sample('IPv4')), name: '10.0.0.2' })],
      ['under another root', () => ({ ...asked(sample('host')), root: sample('host under RSA-2048').files.root })],
      [
        'without its intermediate',
        () => ({ ...asked(sample('chain under P-256')), chain: sample('chain under P-256').files.leaf }),
      ],
    ])('refuses a leaf %s', async (_, question) => {
      const [answer] = await verify([question()]);
      expect(answer).toBeTruthy();
      expect(answer).not.toBe('ok');
    });

    test(`refuses ${seen.fault}`, async () => {
      const [good, bent] = [bentQuestion({}), bentQuestion(seen.bend())];
      expect(await verify([good])).toEqual(['ok']);
      expect(await verify([bent])).not.toEqual(['ok']);
    });
  });
}

type Bent = LeafBend & { readonly name?: string };

const benchCa = makeCa({ name: 'bench', notBefore: epoch(Date.now() - 3_600_000) });
let bentCount = 0;

function bentQuestion(bend: LeafBend): Question {
  const host = 'api.example.com';
  bentCount += 1;
  const [root, chain] = [folder.file(`bent-${bentCount}-root.pem`), folder.file(`bent-${bentCount}.pem`)];
  const now = epoch(Date.now() - 60_000);
  writeFileSync(root, encodePem('CERTIFICATE', benchCa.certificate.der));
  writeFileSync(chain, encodePem('CERTIFICATE', bentLeaf({ ca: benchCa, host, now }, bend)));
  return { root, chain, name: host, isAddress: false };
}

const noAuthority = {
  fault: 'a leaf without authority key id',
  bend: (): Bent => ({ parts: { authority: undefined } }),
};

describeWithTools('OpenSSL, strict', ['openssl'], ({ openssl }) => {
  const base = ['verify', '-x509_strict', '-purpose', 'sslserver', '-no-CApath', '-no-CAstore'];

  const verify: Verifier = async (questions) => {
    const answers: string[] = [];
    for (const { root, chain, name, isAddress } of questions) {
      const named = [isAddress ? '-verify_ip' : '-verify_hostname', name];
      const { status, stdout, stderr } = await run(
        openssl,
        ...base,
        ...named,
        '-CAfile',
        root,
        '-untrusted',
        chain,
        chain,
      );
      answers.push(status === 0 && stdout.endsWith(': OK\n') ? 'ok' : stderr || stdout);
    }
    return answers;
  };
  describeVerifier('openssl', verify, noAuthority);
});

describeWithTools('Go crypto/x509', ['verify-peer'], ({ 'verify-peer': peer }) => {
  const verify: Verifier = async (questions) => {
    const answers: string[] = [];
    for (const { root, chain, name } of questions) {
      answers.push((await run(peer, root, chain, name)).stdout.trimEnd());
    }
    return answers;
  };
  const bend = (): Bent => ({ certificate: { issuerDer: reencoded(benchCa.certificate.subjectDer) } });
  describeVerifier('go', verify, { fault: 'a leaf whose issuer was re-encoded', bend });
});

describeWithTools('Python cryptography', ['python'], ({ python }) => {
  const script = new URL('../support/python/verify_chains.py', import.meta.url).pathname;
  const verify: Verifier = async (questions) => {
    const { stdout, stderr } = await run(
      python,
      script,
      ...questions.flatMap(({ root, chain, name }) => [root, chain, name]),
    );
    expect(stderr).toBe('');
    return stdout.trimEnd().split('\n');
  };
  describeVerifier('cryptography', verify, noAuthority);
});
