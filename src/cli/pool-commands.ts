// `leafgate pool create | inspect | anchors | verify`: their options. What they do is loaded when one is called.
import type { Command } from 'commander';
import { Option } from 'commander';
import type { CommandContext } from './command-context.ts';
import type { CreateValues, ReadValues } from './pool-call.ts';

/** without Ed25519, which NSS and mbedTLS refuse (measured) */
const offeredKeyKinds: readonly CreateValues['keyKind'][] = ['P-256', 'P-384', 'RSA-2048', 'RSA-3072', 'RSA-4096'];

export function addPoolCommands(program: Command, context: CommandContext): void {
  const pool = program.command('pool').description('makes and examines CA pools');
  pool
    .command('create')
    .description('makes a pool with one new CA, valid for a year; never overwrites a file')
    .requiredOption('--out <FILE>', 'where to write it (mode 0600)')
    .addOption(
      new Option('--key-kind <KIND>', 'key of the CA; P-256 is what every client accepts and signs fastest')
        .choices(offeredKeyKinds)
        .default('P-256'),
    )
    .action(async (values: CreateValues) => {
      const { createPoolFile } = await import('./pool-call.ts');
      await createPoolFile(values, context);
    });
  pool
    .command('inspect')
    .description('shows each CA of a pool, without keys')
    .argument('<FILE>')
    .option('--json', 'as one JSON object')
    .action(async (file: string, values: ReadValues) => {
      const { inspectPoolFile } = await import('./pool-call.ts');
      await inspectPoolFile(file, values, context);
    });
  pool
    .command('anchors')
    .description('prints the public CA certificates of a pool as PEM, for clients that shall trust them')
    .argument('<FILE>')
    .action(async (file: string) => {
      const { printAnchors } = await import('./pool-call.ts');
      await printAnchors(file, context);
    });
  pool
    .command('verify')
    .description('names everything that is wrong with a pool at once; exit code 4 when something is')
    .argument('<FILE...>')
    .option('--allow-ed25519', 'lets an Ed25519 CA sign, which NSS and mbedTLS refuse')
    .option('--json', 'as one JSON object a file and line')
    .action(async (files: readonly string[], values: ReadValues) => {
      const { verifyPoolFiles } = await import('./pool-call.ts');
      await verifyPoolFiles(files, values, context);
    });
}
