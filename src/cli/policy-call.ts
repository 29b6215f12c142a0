// Checking a policy file, explaining a decision, counting hits: what `leafgate policy` does. Texts are made elsewhere.
import { accessSync, constants } from 'node:fs';
import { exitCodes, LeafgateError, problemsOf } from '../errors.ts';
import { explainDecision } from '../policy/explain-decision.ts';
import { isSwitchedOn, type SettingSource } from '../settings/read-settings.ts';
import { parsePolicyQuestion } from '../settings/policy-question.ts';
import type { PolicyFile } from '../settings/policy-file.ts';
import { maxPolicyBytes } from '../settings/policy-file-errors.ts';
import { switchSettings } from '../settings/text-settings.ts';
import { systemReason } from '../system-error.ts';
import { cliErrors } from './cli-errors.ts';
import type { CommandContext, Io } from './command-context.ts';
import { explanationJson, explanationText } from './explanation-text.ts';
import { hitsTable, hitsText } from './hits-text.ts';
import { checkJson, remarksOf, summaryText } from './policy-check-text.ts';
import { errorLine } from './print-error.ts';
import { loadPolicyFile, parsePolicyBytes, readPolicyBytes } from './read-policy-file.ts';
import { readHitsOf } from './rule-counters.ts';
import { findRunningGateway, type RunningGatewayNote } from './running-gateway-file.ts';
import { chosenState } from './state-folder.ts';

export type CheckValues = { readonly json?: boolean; readonly withoutFiles?: boolean };
export type ExplainValues = { readonly actor?: string; readonly policy?: string };
type PolicyCall = { readonly source: SettingSource; readonly context: CommandContext };

export async function checkPolicyFile(
  file: string,
  { json: isJson = false, withoutFiles = false }: CheckValues,
  { io, finishWith }: CommandContext,
): Promise<void> {
  const path = file === '-' ? 'stdin' : file;
  const loading = file === '-' ? loadStdin(io) : loadPolicyFile(file).then((loaded) => loaded.file);
  const outcome = await loading.catch((thrown: unknown) => LeafgateError.from(thrown));
  const problems = outcome instanceof LeafgateError ? problemsOf(outcome) : [];
  const missing = outcome instanceof LeafgateError || withoutFiles ? [] : missingFiles(path, outcome);
  const all = [...problems, ...missing];
  if (outcome instanceof LeafgateError || all.length > 0) {
    finishWith(exitCodes.negative);
    if (isJson) io.stdout(`${JSON.stringify(checkJson(path, { problems: all }))}\n`);
    else for (const problem of all) io.stderr(`${errorLine(problem)}\n`);
    return;
  }
  const remarks = remarksOf(outcome);
  if (isJson) {
    io.stdout(`${JSON.stringify(checkJson(path, { file: outcome, remarks }))}\n`);
    return;
  }
  for (const { line, text } of remarks) io.stdout(`${path}${line === undefined ? '' : `:${line}`}: warning: ${text}\n`);
  io.stdout(`${path}: ${summaryText(outcome)}\n`);
}

/** relative paths in it start from the folder of the call */
async function loadStdin(io: Io): Promise<PolicyFile> {
  const bytes = await io.readStdin(maxPolicyBytes);
  const reading = await parsePolicyBytes(bytes, { source: 'stdin', baseDir: process.cwd() });
  if (reading.kind === 'refused') throw LeafgateError.all(reading.problems);
  return reading.file;
}

/** `up` does not start without them */
function missingFiles(file: string, { origins }: PolicyFile): readonly LeafgateError[] {
  return origins.flatMap(({ name, certificateFile, keyFile, caFile }) =>
    [...new Set([certificateFile, keyFile, caFile ?? certificateFile])].flatMap((path) => {
      const reason = unreadableReason(path);
      return reason === undefined ? [] : [cliErrors.error('policy-origin-file', { file, path, name, reason })];
    }),
  );
}

function unreadableReason(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK);
    return undefined;
  } catch (thrown) {
    return systemReason(thrown);
  }
}

export async function explainPolicy(
  host: string,
  values: ExplainValues,
  { source, context }: PolicyCall,
): Promise<void> {
  const question = parsePolicyQuestion(host, values.actor);
  const { file, name } =
    values.policy === undefined
      ? await policyOfGateway(runningGateway({ source, context }, ', or a policy file with --policy'))
      : { ...(await loadPolicyFile(values.policy)), name: values.policy };
  const subject = { question, name, lines: file.lines, explanation: explainDecision(file.policy, question) };
  const isJson = isSwitchedOn(switchSettings.json, source);
  context.io.stdout(isJson ? `${JSON.stringify(explanationJson(subject))}\n` : explanationText(subject));
}

export async function showHits(call: PolicyCall): Promise<void> {
  const note = runningGateway(call, '');
  const [{ file }, hits] = await Promise.all([policyOfGateway(note), readHitsOf(note.adminSocket)]);
  const table = hitsTable(file, hits);
  const isJson = isSwitchedOn(switchSettings.json, call.source);
  call.context.io.stdout(isJson ? `${JSON.stringify(table)}\n` : hitsText(table));
}

/** @throws policy-no-gateway */
function runningGateway({ source, context }: PolicyCall, alternative: string): RunningGatewayNote {
  const state = chosenState(source, context.io.env);
  const note = findRunningGateway(state);
  if (note === undefined) throw cliErrors.error('policy-no-gateway', { folder: state.folder, alternative });
  return note;
}

/** the rules that decide now: those of a file that was broken since are not among them */
async function policyOfGateway(
  note: RunningGatewayNote,
): Promise<{ readonly file: PolicyFile; readonly name: string }> {
  const bytes = await readPolicyBytes(note.policyInForce);
  const reading = await parsePolicyBytes(bytes, { source: note.policyInForce, baseDir: '/', isOwn: true });
  if (reading.kind === 'refused') throw LeafgateError.all(reading.problems);
  // lines of a file that nobody wrote would lead astray
  const file = { ...reading.file, lines: new Map<string, number>() };
  return { file, name: `the gateway on ${note.proxyUrl}` };
}
