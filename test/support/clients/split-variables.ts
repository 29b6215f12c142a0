// The two halves of an actor's environment: what sends a client through the gateway, and what makes it trust the gateway.
// A value of Java options is split word by word, since it carries both.
import type { ChildEnvironment } from '../scrubbed-environment.ts';

export function proxyVariables(all: ChildEnvironment): ChildEnvironment {
  return half(all, (text) => /proxy/i.test(text));
}

export function trustVariables(all: ChildEnvironment): ChildEnvironment {
  return half(all, (text) => !/proxy/i.test(text));
}

export function chosenVariables(all: ChildEnvironment, names: readonly string[]): ChildEnvironment {
  return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
}

function half(all: ChildEnvironment, isIn: (text: string) => boolean): ChildEnvironment {
  const parts = Object.entries(all).map(([name, value]) =>
    name === 'JAVA_TOOL_OPTIONS'
      ? ([name, value.split(' ').filter(isIn).join(' ')] as const)
      : ([name, isIn(name) ? value : ''] as const),
  );
  return Object.fromEntries(parts.filter(([, value]) => value !== ''));
}
