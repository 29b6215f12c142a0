// Prints what doctor found, and ends with 4 when there is a fault.
import { isHealthy, type CheckReport } from '../../doctor/check-types.ts';
import { exitCodes } from '../../errors.ts';
import type { CommandContext } from '../command-context.ts';
import { doctorJson, doctorText } from './doctor-text.ts';

export function printReports(reports: readonly CheckReport[], isJson: boolean, context: CommandContext): void {
  context.io.stdout(isJson ? `${JSON.stringify(doctorJson(reports))}\n` : doctorText(reports));
  if (!isHealthy(reports)) context.finishWith(exitCodes.negative);
}
