// The generated files of two gateways as they were last reviewed: a change of one line in the generator shows here as what
// it does to Envoy's configuration. `npm run golden` writes them anew; read the difference before you commit it.
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { generateEnvoyFiles } from '../../../src/bootstrap/generate-envoy-files.ts';
import { readableFiles } from '../../../src/bootstrap/readable-files.ts';
import { sdsCluster, sdsDocuments } from '../../../src/bootstrap/sds-cluster.ts';
import { parseHostName } from '../../../src/names/parse-host-name.ts';
import type { GatewaySpec } from '../../../src/settings/gateway-spec.ts';
import { parseServerName } from '../../../src/transport/server-name.ts';
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

test('the way to an SDS server on another machine is the one that was reviewed', async () => {
  const [one, two] = ['sds-1.example.com', 'sds-2.example.com'].map((text) => parseServerName(text));
  const serverName = parseHostName('egress-sds.egress.svc.cluster.local');
  if (one === undefined || two === undefined || serverName === undefined) throw new Error('no names');
  const endpoints = [one, two].map((host) => ({ host, port: 8443 }));
  const remoteSds = {
    endpoints,
    tls: { serverName, verifiesServer: true, certificateDir: '/etc/leafgate/sds-client' },
  };
  const spec = gatewaySpec({ remoteSds });
  const way = { cluster: sdsCluster('sds', spec), files: Object.fromEntries(sdsDocuments(spec)) };
  await expect(stringify(way, { lineWidth: 0, aliasDuplicateObjects: false })).toMatchFileSnapshot(
    '../../golden/remote-sds.yaml',
  );
});

function filesOf(spec: GatewaySpec): unknown {
  // JSON is YAML
  return Object.fromEntries(
    [...generateEnvoyFiles(spec, readableFiles).files].map(([file, text]) => [file, parse(text) as unknown]),
  );
}
