// Making a pool, seeing what is in one, finding everything that is wrong. Keys are never shown.
import { randomBytes } from 'node:crypto';
import { LeafgateError, exitCodes, problemsOf, type ExitCode } from '../errors.ts';
import { shortestLeafMs } from '../mint/mint-settings.ts';
import { createPool } from '../pool/create-pool.ts';
import type { PoolTerms } from '../pool/examine-pool.ts';
import type { CaDescription, PoolDescription } from '../pool/inspect-pool.ts';
import { describePool } from '../pool/inspect-pool.ts';
import { parsePool, verifyPool } from '../pool/parse-pool.ts';
import { readPoolFile } from '../pool/read-pool-file.ts';
import { writeNewPoolFile } from '../pool/write-pool-file.ts';
import type { CaKeyKind } from '../x509/create-ca.ts';
import { encodeCertificatesPem } from '../x509/pem.ts';
import type { CommandContext } from './command-context.ts';
import type { SecretChoice } from './pool-secret.ts';
import { errorLine } from './print-error.ts';

export type CreateValues = { readonly out: string; readonly keyKind: Exclude<CaKeyKind, 'Ed25519'> };
export type ReadValues = { readonly json?: boolean; readonly allowEd25519?: boolean };

export async function createPoolFile({ out, keyKind }: CreateValues, context: CommandContext): Promise<void> {
  const now = context.io.clock.now();
  const bytes = createPool({ now, randomBytes: (count) => randomBytes(count), keyKind });
  await writeNewPoolFile(out, bytes);
  const description = describePool(parsePool(bytes.reveal(), termsFor(out, context, false)), now);
  context.io.stdout(`wrote ${out}\n${poolText(description)}`);
}

/** One POST with all three keys. */
export async function createPoolSecret(
  { keyKind, ...choice }: SecretChoice & Pick<CreateValues, 'keyKind'>,
  context: CommandContext,
): Promise<void> {
  const now = context.io.clock.now();
  const bytes = createPool({ now, randomBytes: (count) => randomBytes(count), keyKind });
  const pool = parsePool(bytes.reveal(), termsFor(choice.secret, context, false));
  const { writePoolSecret } = await import('./pool-secret.ts');
  await writePoolSecret(choice, { bytes, pool }, context);
  context.io.stdout(`made the Secret ${choice.secret}\n${poolText(describePool(pool, now))}`);
}

/** a file, or a Secret */
type PoolSource = string | SecretChoice;

export async function inspectPool(source: PoolSource, values: ReadValues, context: CommandContext): Promise<void> {
  const pool = parsePool(await readPool(source, context), termsFor(textOf(source), context, true));
  const description = describePool(pool, context.io.clock.now());
  context.io.stdout(values.json === true ? `${JSON.stringify(description)}\n` : poolText(description));
}

/** The public half, for whoever shall trust it. */
export async function printAnchors(file: string, context: CommandContext): Promise<void> {
  const pool = parsePool(await readPoolFile(file), termsFor(file, context, true));
  context.io.stdout(encodeCertificatesPem(pool.cas.map((ca) => ca.anchor)));
}

/** One answer for each file. A file that cannot be read ends in its own exit code, which outweighs a no to another. */
export async function verifyPools(
  sources: readonly PoolSource[],
  values: ReadValues,
  context: CommandContext,
): Promise<void> {
  const codes: ExitCode[] = [];
  for (const source of sources) codes.push(await verifyOne(source, values, context));
  context.finishWith(codes.find((code) => code === exitCodes.usage) ?? Math.max(...codes));
}

async function verifyOne(source: PoolSource, values: ReadValues, context: CommandContext): Promise<ExitCode> {
  const { isRead, faults } = await faultsOf(source, values, context);
  const named = typeof source === 'string' ? { file: source } : { secret: source.secret };
  if (values.json === true) {
    const listed = faults.map(({ code, message, remedy }) => ({ code, message, remedy }));
    context.io.stdout(`${JSON.stringify({ ...named, ok: faults.length === 0, faults: listed })}\n`);
  } else {
    if (faults.length === 0) context.io.stdout(`${textOf(source)}: nothing is wrong with it\n`);
    for (const fault of faults) context.io.stderr(`${errorLine(fault)}\n`);
  }
  if (!isRead) return faults[0]?.exitCode ?? exitCodes.failed;
  return faults.length > 0 ? exitCodes.negative : exitCodes.ok;
}

type FoundFaults = { readonly isRead: boolean; readonly faults: readonly LeafgateError[] };

async function faultsOf(source: PoolSource, values: ReadValues, context: CommandContext): Promise<FoundFaults> {
  const terms = termsFor(textOf(source), context, values.allowEd25519 === true);
  let bytes: Uint8Array;
  try {
    bytes = await readPool(source, context);
  } catch (thrown) {
    return { isRead: false, faults: [LeafgateError.from(thrown)] };
  }
  const found = verifyPool(bytes, terms);
  return { isRead: true, faults: found.flatMap(problemsOf) };
}

/** a file needs nothing of the Kubernetes client, which takes longer to load than all the rest */
async function readPool(source: PoolSource, context: CommandContext): Promise<Uint8Array> {
  if (typeof source === 'string') return readPoolFile(source);
  const { readPoolSecret } = await import('./pool-secret.ts');
  return readPoolSecret(source, context);
}

function textOf(source: PoolSource): string {
  return typeof source === 'string' ? source : `Secret ${source.secret}`;
}

function termsFor(source: string, context: CommandContext, allowEd25519: boolean): PoolTerms {
  return { source, now: context.io.clock.now(), allowEd25519, shortestLeafMs };
}

function poolText({ cas, faults }: PoolDescription): string {
  const left = faults.map(({ message, remedy }) => `left out: ${message}; ${remedy}\n`);
  return [...cas.map(caText), ...left].join('');
}

function caText(ca: CaDescription): string {
  const lines = [
    `${ca.id}${ca.isActive ? ' (signs)' : ''}`,
    `  subject      ${ca.subject}`,
    `  key          ${ca.key}, id ${ca.keyIdPrefix}…`,
    `  sha256       ${ca.anchorSha256}`,
    `  valid        ${dateText(ca.notBefore)} to ${dateText(ca.notAfter)} (${ca.daysLeft} days left)`,
    ...(ca.intermediates === 0 ? [] : [`  chain        ${ca.intermediates} intermediate(s) sent after the leaf`]),
    ...(ca.addedAt === undefined ? [] : [`  added        ${dateText(ca.addedAt)}`]),
    ...(ca.activatedAt === undefined ? [] : [`  activated    ${dateText(ca.activatedAt)}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function dateText(time: string): string {
  return time.replace('.000Z', 'Z');
}
