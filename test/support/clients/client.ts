// What one row of the matrix of clients is: how a client fetches something, what it says of a certificate that it does not
// trust, and which variables carry proxy and trust to it, or that none does.
import type { ChildEnvironment } from '../scrubbed-environment.ts';
import type { ToolName } from '../tools.ts';

/** one start of a client */
export type ClientRun = {
  /** its HOME and its working folder, empty before */
  readonly home: string;
  /** the path on the origin under which this run asks; what it brings is below it */
  readonly base: string;
  readonly tool: (name: ToolName) => string;
};

export type Client = {
  readonly name: string;
  readonly tools: readonly [ToolName, ...ToolName[]];
  /** prints the version, the first number with a dot */
  readonly version: (tool: ClientRun['tool']) => readonly string[];
  /** the command; its stdout must contain `originMark`, which only the origin can have told it */
  readonly words: (run: ClientRun) => readonly string[];
  /** its own configuration, which says where to fetch from or to write to, never whom to trust */
  readonly settings?: (run: ClientRun) => ChildEnvironment;
  /** before each start */
  readonly prepare?: (run: ClientRun) => void | Promise<void>;
  readonly distrust: RegExp;
  readonly reach: Reach;
};

export type Reach =
  | {
      readonly kind: 'variables';
      /** enough to send it through the gateway */
      readonly proxy: readonly string[];
      /** enough to make it trust the gateway */
      readonly trust: readonly string[];
    }
  | {
      readonly kind: 'unreached';
      /** what no variable gives it */
      readonly lacks: 'proxy' | 'trust';
      readonly remedy: string;
    };

/** what the origin answers whoever asks below `/mark`, and what everything on its shelf contains */
export const originMark = 'told by the origin';
