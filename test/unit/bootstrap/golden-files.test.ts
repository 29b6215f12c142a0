// The generated files of two gateways as they were last reviewed: a change of one line in the generator shows here as what
// it does to Envoy's configuration. `npm run golden` writes them anew; read the difference before you commit it.
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import type { GatewaySpec } from '../../../src/settings/gateway-spec.ts';
import { fold, unfold } from '../../support/fold-document.ts';
import { gatewaySpec } from '../../support/gateway-spec.ts';
import { wholeSpec } from '../../support/whole-spec.ts';

const golden: readonly (readonly [string, GatewaySpec])[] = [
  ['laptop', gatewaySpec()],
  ['everything', wholeSpec()],
];

test.each(golden)('the files of the gateway "%s" are those that were reviewed', async (name, spec) => {
  const { document, shared } = fold(filesOf(spec));
  const text = stringify({ files: document, shared }, { lineWidth: 0, aliasDuplicateObjects: false });
  await expect(text).toMatchFileSnapshot(`../../golden/${name}.yaml`);
});

test.each(golden)('what is reviewed of the gateway "%s" is all of it', (_name, spec) => {
  expect(unfold(fold(filesOf(spec)))).toEqual(filesOf(spec));
});

function filesOf(spec: GatewaySpec): unknown {
  // JSON is YAML
  return Object.fromEntries(
    [...generateEnvoyFiles(spec, readableFiles).files].map(([file, text]) => [file, parse(text) as unknown]),
  );
}
