// All checks of `leafgate doctor`, in the order in which one problem explains the next, and what they can find.
import type { Check } from './check-types.ts';
import type { DoctorFacts } from './doctor-facts.ts';
import { envoyCheck } from './envoy-check.ts';
import { environmentChecks } from './environment-checks.ts';
import { gatewayChecks, handshakeCheck } from './gateway-checks.ts';
import { runningProblems, stateProblems } from './gateway-problems.ts';
import { environmentProblems, envoyProblems, machineProblems } from './local-problems.ts';
import { machineChecks } from './machine-checks.ts';
import type { ProblemSpec } from './problem-table.ts';
import { givenFileChecks, stateChecks } from './state-checks.ts';

export const doctorChecks: readonly Check<DoctorFacts>[] = [
  ...machineChecks,
  envoyCheck,
  ...stateChecks,
  ...givenFileChecks,
  ...environmentChecks,
  ...gatewayChecks,
  handshakeCheck,
];

export const doctorProblems: Readonly<Record<string, ProblemSpec>> = {
  ...machineProblems.specs,
  ...envoyProblems.specs,
  ...stateProblems.specs,
  ...environmentProblems.specs,
  ...runningProblems.specs,
};
