// What the two ways of trust delivery, one volume and a folder of them, are made of.
import { join } from 'node:path';
import { createMetrics, type Metrics } from '../observe/create-metrics.ts';
import type { Log } from '../observe/log.ts';
import { createBundleViews, type BundleViews } from '../projection/bundle-views.ts';
import { createVolumeKeeper, type VolumeKeeper } from '../projection/keep-volumes.ts';
import { openVolumeBook, type VolumeBook } from '../projection/tell-volumes.ts';
import { openVolumeWriter, type VolumeWriter } from '../projection/write-volume.ts';
import type { Closers } from './closers.ts';
import type { Io } from './command-context.ts';
import { createInputTroubles, type InputTroubles } from './delivery-inputs.ts';
import type { ProjectSettings } from './project-options.ts';

export type ProjectionParts = {
  readonly settings: ProjectSettings;
  readonly io: Io;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly closers: Closers;
  readonly book: VolumeBook;
  readonly keeper: VolumeKeeper;
  readonly troubles: InputTroubles;
  /** of the cluster's bundles */
  readonly views: BundleViews;
  /** for the volume of one actor by its name; of the one volume there is */
  readonly openWriter: (name: string) => VolumeWriter;
  /** set once they are known: the volumes that there were at the start */
  readonly start: { initial?: ReadonlySet<string> };
};

export type PartsRequest = Pick<ProjectionParts, 'settings' | 'io' | 'log' | 'closers'>;

export function createProjectionParts(request: PartsRequest): ProjectionParts {
  const { settings, io, log } = request;
  const { clock } = io;
  const metrics = createMetrics();
  const book = openVolumeBook({ log, clock, metrics });
  const { dir, what, owner, fileMode, folderMode } = settings;
  const openWriter = (name: string): VolumeWriter =>
    openVolumeWriter({
      ...{ dir: what.kind === 'volume' ? dir : join(dir, name), fileMode, folderMode },
      ...(owner === undefined ? {} : { owner }),
    });
  const keeper = createVolumeKeeper({ clock, random: Math.random, openWriter, events: book });
  return {
    ...{ ...request, metrics, book, keeper, openWriter, start: {} },
    troubles: createInputTroubles({ log, metrics }),
    views: createBundleViews({ clock, log, metrics }),
  };
}
