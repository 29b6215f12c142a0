// The settings for wget that its user has, without what the gateway sets: wget reads one such file only and has no way to
// include another. Pure; must not know where the file is.

export type OwnWgetrc = {
  /** lines with their ends */
  readonly kept: string;
  /** files of roots that it names; the last one counts */
  readonly caFile: string | undefined;
  /** proxies that it names */
  readonly proxies: readonly string[];
};

/** as wget compares commands: case, hyphens and underscores do not count (its manual, Wgetrc Syntax) */
const proxyCommands = new Set(['httpproxy', 'httpsproxy', 'useproxy']);

/** `keepProxies`: where the gateway does not take their place */
export function readOwnWgetrc(text: string, keepProxies: boolean): OwnWgetrc {
  const kept: string[] = [];
  const proxies: string[] = [];
  let caFile: string | undefined;
  for (const line of text.split('\n')) {
    const [, name = '', value = ''] = /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    const command = name.toLowerCase().replace(/[-_]/g, '');
    if (command === 'cacertificate') caFile = value === '' ? undefined : value;
    else if (proxyCommands.has(command) && !keepProxies) proxies.push(name);
    else if (line.trim() !== '') kept.push(`${line}\n`);
  }
  return { kept: kept.join(''), caFile, proxies };
}
