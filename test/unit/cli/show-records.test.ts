import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createShownNote, readShownRecords, type ShownRecords } from '../../../src/cli/record-position.ts';
import { warmUp } from '../../../src/cli/record-source.ts';
import { createRecordShow, type ShowRecordsParts } from '../../../src/cli/show-records.ts';
import { epoch, millis, systemClock } from '../../../src/clock.ts';
import type { AccessRecord } from '../../../src/observe/access-record.ts';
import { createRecordJoiner } from '../../../src/observe/record-joiner.ts';
import { createTempFolder, type TempFolder } from '../../support/temp-folder.ts';
import { waitFor } from '../../support/wait-for.ts';
import { closed, inner, intercepted, opened } from '../observe/access-lines.ts';

/** the lines' own time */
const start = Date.UTC(2026, 10, 30, 10, 43, 43, 477);
const from: ShownRecords = { segment: 3, offset: 0, sweptAt: epoch(start), isFinished: false };
const end = (offset: number) => ({ segment: 3, offset });

describe('showing records', () => {
  let shown: AccessRecord[];
  let notes: ShownRecords[];
  beforeEach(() => {
    shown = [];
    notes = [];
  });

  const createShow = (parts: Partial<ShowRecordsParts> = {}) =>
    createRecordShow({
      joiner: createRecordJoiner({ lineLost: () => undefined }),
      now: () => epoch(start),
      show: (record) => void shown.push(record),
      taken: () => Promise.resolve(true),
      note: (note) => void notes.push(note),
      from,
      ...parts,
    });

  test('notes how far only when whoever reads has taken it', async () => {
    const reader = Promise.withResolvers<boolean>();
    const show = createShow({ taken: () => reader.promise });
    const batch = show.batch({ lines: [opened(), intercepted()], end: end(700) });
    expect(shown).toHaveLength(1);
    expect(show.isReaderBehind()).toBe(true);
    expect(notes).toEqual([]);
    reader.resolve(true);
    expect(await batch).toBe(true);
    expect(notes).toEqual([{ ...from, offset: 700 }]);
    expect(show.isReaderBehind()).toBe(false);
  });

  test('notes nothing of what was put by', async () => {
    const show = createShow({ taken: () => Promise.resolve(false) });
    expect(await show.batch({ lines: [intercepted()], end: end(700) })).toBe(true);
    expect(notes).toEqual([]);
  });

  test('ends the wait for a reader that takes nothing, and leaves the rest to the next run', async () => {
    const show = createShow({ taken: () => new Promise(() => undefined) });
    const batch = show.batch({ lines: [intercepted()], end: end(700) });
    show.giveUp();
    expect(await batch).toBe(false);
    expect(await show.batch({ lines: [intercepted()], end: end(900) })).toBe(false);
    expect(await show.finish()).toBe(false);
    expect(notes).toEqual([]);
  });

  test('shows what came to nothing when its time is over, and notes until when it has', async () => {
    let now = start;
    const show = createShow({ now: () => epoch(now) });
    await show.batch({ lines: [opened(), closed()], end: end(700) });
    await show.sweep();
    expect(shown).toEqual([]);
    now += 60_000;
    await show.sweep();
    expect(shown).toMatchObject([{ kind: 'tunnel', reason: { code: 'client-left' } }]);
    expect(notes.at(-1)).toEqual({ ...from, offset: 700, sweptAt: now });
  });

  test('shows what still waits at the end, and notes that nothing is left', async () => {
    const show = createShow();
    await show.batch({
      lines: [opened({ id: 'open' }), opened({ id: 'ended' }), closed({ id: 'ended' })],
      end: end(9),
    });
    expect(await show.finish()).toBe(true);
    expect(shown.map(({ id, reason }) => [id, reason?.code])).toEqual([
      ['open', 'gateway-stopped'],
      ['ended', 'client-left'],
    ]);
    expect(notes.at(-1)).toEqual({ ...from, offset: 9, isFinished: true });
  });
});

describe('the note of what was shown', () => {
  let folder: TempFolder;
  beforeEach(() => {
    folder = createTempFolder();
  });
  afterEach(() => folder.remove());

  test('is read back, the last one written', async () => {
    const path = folder.file('access.json');
    const note = createShownNote(path, systemClock, () => undefined);
    note.write({ ...from, offset: 1 });
    note.write({ ...from, offset: 2 });
    await note.flush();
    expect(await readShownRecords(path)).toEqual({ ...from, offset: 2 });
  });

  test('is written soon without being asked for', async () => {
    const path = folder.file('access.json');
    createShownNote(path, systemClock, () => undefined).write(from);
    expect(await waitFor('the note', () => readShownRecords(path))).toEqual(from);
  });

  test.each(['', 'x', '{}', '{"segment":0,"offset":0,"sweptAt":0,"isFinished":true}', '{"segment":1,"offset":-1}'])(
    'that says %j is as none',
    async (text) => {
      writeFileSync(folder.file('access.json.shown'), text);
      expect(await readShownRecords(folder.file('access.json'))).toBeUndefined();
    },
  );

  test('that cannot be written is told', async () => {
    const failures: unknown[] = [];
    const note = createShownNote(folder.file('missing/access.json'), systemClock, (error) => void failures.push(error));
    note.write(from);
    await note.flush();
    expect(failures).toHaveLength(1);
  });
});

describe('a run that goes on where another was killed', () => {
  let folder: TempFolder;
  beforeEach(() => {
    folder = createTempFolder();
  });
  afterEach(() => folder.remove());

  test('shows each record once, whatever the place where the other stood', async () => {
    const lines = [
      ...[opened({ id: 'a' }), intercepted({ id: 'a' }), opened({ id: 'b' }), closed({ id: 'b' })],
      ...[inner({ id: 'a' }), closed({ id: 'a' }), opened({ id: 'c' }), intercepted({ id: 'c' })],
      ...[opened({ id: 'd' }), inner({ id: 'c' }), closed({ id: 'c' }), inner({ id: 'd', client_tls_failure: null })],
    ];
    const path = folder.file('access.json');
    writeFileSync(`${path}.1`, `${lines.slice(0, 5).join('\n')}\n`);
    writeFileSync(`${path}.2`, `${lines.slice(5).join('\n')}\n`);
    const whole = createRecordJoiner({ lineLost: () => undefined });
    const expected = [...lines.flatMap((line) => whole.take(line)), ...whole.finish()];
    expect(expected.map(({ id }) => id).sort()).toEqual(['a', 'b', 'c', 'd']);
    for (let at = 0; at <= lines.length; at += 1) {
      const firstRun = createRecordJoiner({ lineLost: () => undefined });
      const before = lines.slice(0, at).flatMap((line) => firstRun.take(line));
      const secondRun = createRecordJoiner({ lineLost: () => undefined });
      await warmUp({
        path,
        joiner: secondRun,
        until: { ...positionAfter(at, lines), sweptAt: epoch(start), isFinished: false },
      });
      const after = [...lines.slice(at).flatMap((line) => secondRun.take(line)), ...secondRun.finish()];
      expect([...before, ...after].map(identity).sort()).toEqual(expected.map(identity).sort());
    }
  });

  test('shows no tunnel that the other had swept', async () => {
    const path = folder.file('access.json');
    writeFileSync(`${path}.1`, `${opened()}\n${closed()}\n`);
    const joiner = createRecordJoiner({ lineLost: () => undefined }, { maxTunnels: 10, graceMs: millis(3_000) });
    const until = { segment: 1, offset: readFileSync(`${path}.1`).length, isFinished: false };
    await warmUp({ path, joiner, until: { ...until, sweptAt: epoch(start + 60_000) } });
    expect(joiner.finish()).toEqual([]);
  });
});

function positionAfter(count: number, lines: readonly string[]): { segment: number; offset: number } {
  const bytes = (some: readonly string[]): number => some.reduce((sum, line) => sum + line.length + 1, 0);
  return count <= 5
    ? { segment: 1, offset: bytes(lines.slice(0, count)) }
    : { segment: 2, offset: bytes(lines.slice(5, count)) };
}

function identity({ id, kind, path, outcome, reason }: AccessRecord): string {
  return [id, kind, path, outcome, reason?.code].join(' ');
}
