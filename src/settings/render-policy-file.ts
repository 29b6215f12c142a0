// A policy as a policy file, for readers of ours: one rule an entry, its hosts together, all paths absolute. Pure.
import { cidrText } from '../names/cidr.ts';
import { hostPatternText } from '../names/host-pattern.ts';
import type { Policy, PolicyRule, RuleTarget } from '../policy/policy-types.ts';
import type { PolicyFile } from './policy-file.ts';

/** Parses back to the same policy, where rules may be called like their patterns (`isOwn`). */
export function renderPolicyFile({ policy, dryRun, origins }: PolicyFile): string {
  const document = {
    ...renderedPolicy(policy),
    ...(dryRun === undefined ? {} : { dryRun: renderedPolicy(dryRun) }),
    ...(origins.length === 0
      ? {}
      : {
          origins: origins.map(({ name, hosts, certificateFile, keyFile, caFile }) => ({
            ...{ name, hosts: hosts.map(hostPatternText), certificate: certificateFile, key: keyFile },
            ...(caFile === undefined ? {} : { ca: caFile }),
          })),
        }),
  };
  return `${JSON.stringify(document, null, 1)}\n`;
}

function renderedPolicy({ rules, defaultVerdict }: Policy): object {
  const byName = new Map<string, { readonly rule: PolicyRule; readonly hosts: string[] }>();
  for (const rule of rules) {
    const text = targetText(rule.target);
    const known = byName.get(rule.name);
    if (known === undefined) byName.set(rule.name, { rule, hosts: [text] });
    else known.hosts.push(text);
  }
  return {
    default: defaultVerdict,
    rules: [...byName.values()].map(({ rule: { name, ports, actors, verdict }, hosts }) => ({
      ...{ name, hosts },
      ...(ports.length === 0 ? {} : { ports }),
      ...(actors.length === 0 ? {} : { actors }),
      verdict,
    })),
  };
}

/** `example.com`, `*.example.com`, `192.0.2.1` or `192.0.2.0/24` */
function targetText(target: RuleTarget): string {
  return target.kind === 'cidr' ? cidrText(target.cidr) : hostPatternText(target.pattern);
}
