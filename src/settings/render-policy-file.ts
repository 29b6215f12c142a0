// A policy as a policy file, for readers of ours: a line for each rule, its hosts together, all paths absolute. In a pod it shares
// its room with Envoy's files, so that nothing is indented. Pure.
import { cidrText } from '../names/cidr.ts';
import { hostPatternText } from '../names/host-pattern.ts';
import type { Policy, PolicyRule, RuleTarget } from '../policy/policy-types.ts';
import type { PolicyFile } from './policy-file.ts';

/** Parses back to the same policy, where rules may be called like their patterns (`isOwn`). */
export function renderPolicyFile({ policy, dryRun, origins }: PolicyFile): string {
  const fields = [
    ...policyFields(policy),
    ...(dryRun === undefined ? [] : [`"dryRun": {\n${policyFields(dryRun).join(',\n')}\n}`]),
    ...(origins.length === 0 ? [] : [listField('origins', origins.map(renderedOrigin))]),
  ];
  return `{\n${fields.join(',\n')}\n}\n`;
}

function renderedOrigin({ name, hosts, certificateFile, keyFile, caFile }: PolicyFile['origins'][number]): object {
  return {
    ...{ name, hosts: hosts.map(hostPatternText), certificate: certificateFile, key: keyFile },
    ...(caFile === undefined ? {} : { ca: caFile }),
  };
}

function policyFields({ rules, defaultVerdict }: Policy): readonly string[] {
  const byName = new Map<string, { readonly rule: PolicyRule; readonly hosts: string[] }>();
  for (const rule of rules) {
    const text = targetText(rule.target);
    const known = byName.get(rule.name);
    if (known === undefined) byName.set(rule.name, { rule, hosts: [text] });
    else known.hosts.push(text);
  }
  const rendered = [...byName.values()].map(({ rule: { name, ports, actors, verdict }, hosts }) => ({
    ...{ name, hosts },
    ...(ports.length === 0 ? {} : { ports }),
    ...(actors.length === 0 ? {} : { actors }),
    verdict,
  }));
  return [`"default": ${JSON.stringify(defaultVerdict)}`, listField('rules', rendered)];
}

/** a line for each entry */
function listField(name: string, entries: readonly object[]): string {
  const lines = entries.map((entry) => JSON.stringify(entry));
  return lines.length === 0 ? `"${name}": []` : `"${name}": [\n${lines.join(',\n')}\n]`;
}

/** `example.com`, `*.example.com`, `192.0.2.1` or `192.0.2.0/24` */
function targetText(target: RuleTarget): string {
  return target.kind === 'cidr' ? cidrText(target.cidr) : hostPatternText(target.pattern);
}
