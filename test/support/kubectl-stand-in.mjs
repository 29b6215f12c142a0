// In the place of `kubectl` for the commands of a page: `-n NAMESPACE create secret generic|tls NAME …` leaves what kubectl would
// send (seen with `--dry-run=client -o json`) as NAME.json in the folder that HOME names. Any other call is an error.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const string = { type: 'string' };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    namespace: { ...string, short: 'n' },
    type: string,
    'from-file': { ...string, multiple: true },
    cert: string,
    key: string,
  },
});
const [verb, kind, flavour, name, ...more] = positionals;
if (verb !== 'create' || kind !== 'secret' || name === undefined || more.length > 0)
  throw new Error(`not known here: ${positionals.join(' ')}`);

const files = (values['from-file'] ?? []).map((pair) => pair.split('='));
const tls = [
  ['tls.crt', values.cert],
  ['tls.key', values.key],
];
const data = Object.fromEntries(
  (flavour === 'tls' ? tls : files).map(([key, path]) => [key, readFileSync(path).toString('base64')]),
);
const type = flavour === 'tls' ? 'kubernetes.io/tls' : (values.type ?? 'Opaque');
const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: values.namespace }, data, type };
writeFileSync(join(process.env.HOME, `${name}.json`), JSON.stringify(secret));
