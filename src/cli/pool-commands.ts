// `leafgate pool create | inspect | anchors | verify`: their options. What they do is loaded when one is called. A pool
// is in a file or in a Secret: exactly one is named.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { CreateValues, ReadValues } from './pool-call.ts';
import type { SecretChoice } from './pool-secret.ts';

/** without Ed25519, which NSS and mbedTLS refuse (measured) */
const offeredKeyKinds: readonly CreateValues['keyKind'][] = ['P-256', 'P-384', 'RSA-2048', 'RSA-3072', 'RSA-4096'];

const kubeconfigHelp = 'how to reach Kubernetes; else KUBECONFIG, the service account of a pod, or ~/.kube/config';

export function addPoolCommands(program: Command, context: CommandContext): void {
  const pool = program.command('pool').description('makes and examines CA pools');
  for (const add of [addCreate, addInspect, addAnchors, addVerify]) add(pool, context);
}

function addCreate(pool: Command, context: CommandContext): void {
  pool
    .command('create')
    .description('makes a pool with one new CA, valid for a year; never overwrites a file or a Secret')
    .option('--out <FILE>', 'where to write it (mode 0600)')
    .option('--secret <NS/NAME>', 'makes this Secret of Kubernetes in place of a file: keys pool, tls.crt and tls.key')
    .option('--kubeconfig <FILE>', kubeconfigHelp)
    .addOption(
      new Option('--key-kind <KIND>', 'key of the CA; P-256 is what every client accepts and signs fastest')
        .choices(offeredKeyKinds)
        .default('P-256'),
    )
    .action(async (values: CreateOptions, command: Command) => {
      const { keyKind, out } = values;
      const secret = secretIn(values, { command, file: '--out <FILE>', given: out });
      const { createPoolFile, createPoolSecret } = await import('./pool-call.ts');
      if (secret !== undefined) await createPoolSecret({ ...secret, keyKind }, context);
      else if (out !== undefined) await createPoolFile({ out, keyKind }, context);
    });
}

function addInspect(pool: Command, context: CommandContext): void {
  pool
    .command('inspect')
    .description('shows each CA of a pool, without keys')
    .argument('[FILE]')
    .option('--secret <NS/NAME>', 'the Secret that has it, in place of a file')
    .option('--kubeconfig <FILE>', kubeconfigHelp)
    .option('--json', 'as one JSON object')
    .action(async (file: string | undefined, values: ReadOptions, command: Command) => {
      const source = secretIn(values, { command, file: 'FILE', given: file }) ?? file;
      const { inspectPool } = await import('./pool-call.ts');
      if (source !== undefined) await inspectPool(source, values, context);
    });
}

function addAnchors(pool: Command, context: CommandContext): void {
  pool
    .command('anchors')
    .description('prints the public CA certificates of a pool as PEM, for clients that shall trust them')
    .argument('<FILE>')
    .action(async (file: string) => {
      const { printAnchors } = await import('./pool-call.ts');
      await printAnchors(file, context);
    });
}

function addVerify(pool: Command, context: CommandContext): void {
  pool
    .command('verify')
    .description('names everything that is wrong with a pool at once; exit code 4 when something is')
    .argument('[FILE...]')
    .option('--secret <NS/NAME>', 'the Secret that has it, in place of files')
    .option('--kubeconfig <FILE>', kubeconfigHelp)
    .option('--allow-ed25519', 'lets an Ed25519 CA sign, which NSS and mbedTLS refuse')
    .option('--json', 'as one JSON object a file and line')
    .action(async (files: readonly string[], values: ReadOptions, command: Command) => {
      const secret = secretIn(values, { command, file: 'FILE', given: files[0] });
      const { verifyPools } = await import('./pool-call.ts');
      await verifyPools(secret === undefined ? files : [secret], values, context);
    });
}

type SecretOptions = Partial<SecretChoice>;
type CreateOptions = SecretOptions & Pick<CreateValues, 'keyKind'> & { readonly out?: string };
type ReadOptions = SecretOptions & ReadValues;

type Call = { readonly command: Command; readonly file: string; readonly given: string | undefined };

/** Undefined: a file was named. Anything but exactly one of them ends in an error. */
function secretIn({ secret, kubeconfig }: SecretOptions, { command, file, given }: Call): SecretChoice | undefined {
  if (secret !== undefined && given !== undefined) {
    return command.error(`error: ${file} and --secret <NS/NAME> exclude each other`);
  }
  if (secret !== undefined) return { secret, ...(kubeconfig === undefined ? {} : { kubeconfig }) };
  if (given === undefined) return command.error(`error: missing ${file}, or --secret <NS/NAME> for one of Kubernetes`);
  if (kubeconfig !== undefined) return command.error('error: --kubeconfig is for --secret <NS/NAME> only');
  return undefined;
}
