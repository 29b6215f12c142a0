// The names of log fields, in one place, so that a line written by any room can be searched in one way: `LogFields` takes
// no other. A host is what a client asked for, escaped by whoever prints the line.

/** fields that every line has */
export const lineFields = { time: 'time', level: 'level', sentence: 'message' } as const;

export type LogFieldName =
  /** code of an error of ours */
  | 'code'
  /** what a sentence cannot foresee: an error's message, another program's words */
  | 'detail'
  /** what to do about it */
  | 'remedy'
  /** which part of Envoy speaks */
  | 'logger'
  /** file or socket */
  | 'path'
  | 'host'
  /** of Kubernetes: what is followed or written, such as secrets "egress/pool" */
  | 'resource'
  | 'rule'
  /** one of a closed set, as in the metric of the same event */
  | 'reason'
  /** lower-case hex */
  | 'serial'
  | 'caId'
  /** of trust delivery: what an actor asks for, by the actor's name or by its file */
  | 'volume'
  /** how many */
  | 'files'
  | 'volumes'
  /** namespace/name of an EgressGateway */
  | 'gateway'
  /** what was written or read in the cluster, as kind and name */
  | 'object'
  | 'version'
  /** as the list of bundles names it */
  | 'bundle'
  /** how many lines of the same kind were left out before this one */
  | 'lost'
  /** address and port of who connected */
  | 'peer'
  | 'signal';
