// Which problems doctor names on a machine that is sound but for what a test has gathered.
import { runChecks } from '../../src/doctor/check-types.ts';
import { doctorChecks } from '../../src/doctor/doctor-checks.ts';
import type { DoctorFacts } from '../../src/doctor/doctor-facts.ts';
import { soundFacts } from './doctor-facts.ts';

export function foundIn(gathered: Partial<DoctorFacts>): readonly string[] {
  const reports = runChecks(doctorChecks, { ...soundFacts, ...gathered });
  return reports.flatMap(({ result }) => (result.kind === 'found' ? result.problems.map(({ id }) => id) : []));
}
