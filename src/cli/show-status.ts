// `leafgate status`: prints what runs, and ends with 4 unless a gateway is ready.
import { exitCodes } from '../errors.ts';
import { isSwitchedOn } from '../settings/read-settings.ts';
import type { SettingSource } from '../settings/read-settings.ts';
import { switchSettings } from '../settings/text-settings.ts';
import type { CommandContext } from './command-context.ts';
import { readRunningStatus, type RunningStatus } from './running-status.ts';
import { chosenState } from './state-folder.ts';
import { statusText } from './status-text.ts';

export async function showStatus(source: SettingSource, context: CommandContext): Promise<void> {
  const { io } = context;
  const running = await readRunningStatus(chosenState(source, io.env));
  const isJson = isSwitchedOn(switchSettings.json, source);
  io.stdout(isJson ? `${JSON.stringify(statusJson(running))}\n` : statusText(running, io.clock.now()));
  const isReady = running.kind === 'running' && running.status.state === 'ready';
  if (!isReady) context.finishWith(exitCodes.negative);
}

/** one flat object; `running` is all that a simple script needs */
function statusJson(running: RunningStatus): object {
  if (running.kind !== 'running') {
    const { kind, ...rest } = running;
    return { running: kind !== 'none', state: kind, ...rest };
  }
  const { status, stateFolder, counts, memoryBytes, envoy } = running;
  const { gateway, ...own } = status;
  return { running: true, ...own, stateFolder, ...gateway, memoryBytes, envoy, counts };
}
