// The whole vocabulary of errors, assembled from the slices of the rooms (docs/decisions/0001). docs/errors.md is made
// from it; a test holds that codes are unique and documented.
import { coreErrors, type ErrorSpec } from '../errors.ts';
import { socketErrors } from '../private-socket.ts';
import { channelErrors } from '../channel/channel-errors.ts';
import { controllerErrors } from '../controller/controller-errors.ts';
import { envoyErrors } from '../envoy/envoy-errors.ts';
import { kubeErrors } from '../kube/kube-errors.ts';
import { mintErrors } from '../mint/mint-errors.ts';
import { observeErrors } from '../observe/observe-errors.ts';
import { poolErrors } from '../pool/pool-errors.ts';
import { probeErrors } from '../probe/probe-errors.ts';
import { bundleErrors } from '../projection/bundle-errors.ts';
import { projectionErrors } from '../projection/projection-errors.ts';
import { volumeErrors } from '../projection/volume-errors.ts';
import { sdsErrors } from '../sds/sds-errors.ts';
import { deliveryErrors } from '../settings/delivery-errors.ts';
import { policyFileErrors } from '../settings/policy-file-errors.ts';
import { egressGatewayErrors } from '../settings/egress-gateway-errors.ts';
import { settingsErrors } from '../settings/settings-errors.ts';
import { transportErrors } from '../transport/transport-errors.ts';
import { x509Errors } from '../x509/x509-errors.ts';
import { cliErrors } from './cli-errors.ts';

export type ErrorRow = { readonly room: string; readonly code: string; readonly spec: ErrorSpec };

const slices = {
  core: coreErrors,
  socket: socketErrors,
  cli: cliErrors,
  settings: settingsErrors,
  'policy file': policyFileErrors,
  delivery: deliveryErrors,
  'egress gateway': egressGatewayErrors,
  envoy: envoyErrors,
  pool: poolErrors,
  x509: x509Errors,
  mint: mintErrors,
  sds: sdsErrors,
  channel: channelErrors,
  transport: transportErrors,
  kube: kubeErrors,
  probe: probeErrors,
  projection: projectionErrors,
  bundle: bundleErrors,
  'trust volume': volumeErrors,
  controller: controllerErrors,
  observe: observeErrors,
};

export const errorTable: readonly ErrorRow[] = Object.entries(slices).flatMap(([room, { specs }]) =>
  Object.entries(specs).map(([code, spec]: [string, ErrorSpec]) => ({ room, code, spec })),
);

export function errorsMarkdown(): string {
  const rows = errorTable.map(
    ({ room, code, spec }) =>
      `| \`${code}\` | ${room} | ${cell(spec.message)} | ${cell(spec.remedy)} | ${spec.exitCode} |`,
  );
  return [
    '# Errors',
    '',
    'Every error has a stable code. Match on the code, never on the text: `leafgate: <what>; <what to do> [<code>]`. `{…}` is filled',
    'in with what was met. Exit codes: 1 failed, or a stop that a second signal cut short; 2 a wrong flag, file or setting; 3 something',
    'the machine lacks; 4 a check said no; 128 and the number of a signal that ended a start (130 for Ctrl-C);',
    'of `run`: 126 its command is no program, 127 there is no such command.',
    '',
    '| code | room | what | what to do | exit |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
