// Variables of the shell that a command is started from which `run` and `env` leave as they are.
type Environment = { readonly [name: string]: string | undefined };

/** what stands in the owner's file for apt has no other way to it */
export function stayingVariables(own: Environment): ReadonlySet<string> {
  return new Set(['APT_CONFIG'].filter((name) => (own[name] ?? '') !== ''));
}
