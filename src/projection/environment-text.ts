// Variables as a shell, a dotenv file, JSON or a container of Kubernetes takes them, whatever their values are. Pure; must
// not know what they are for.
import { projectionErrors } from './projection-errors.ts';

export const environmentFormats = ['shell', 'dotenv', 'json', 'k8s'] as const;
export type EnvironmentFormat = (typeof environmentFormats)[number];

type Variables = Readonly<Record<string, string>>;

/** @throws dotenv-unsayable */
export function environmentText(variables: Variables, format: EnvironmentFormat): string {
  switch (format) {
    case 'shell':
      return lines(variables, (name, value) => `export ${name}='${value.replaceAll("'", String.raw`'\''`)}'`);
    case 'dotenv':
      return lines(variables, (name, value) => `${name}=${dotenvValue(name, value)}`);
    case 'json':
      return `${JSON.stringify(variables, null, 2)}\n`;
    case 'k8s':
      return lines(variables, (name, value) => `- name: ${name}\n  value: ${kubernetesValue(value)}`);
    default:
      return format satisfies never;
  }
}

function lines(variables: Variables, line: (name: string, value: string) => string): string {
  return Object.entries(variables)
    .map(([name, value]) => `${line(name, value)}\n`)
    .join('');
}

/**
 * Node's --env-file and the libraries of that kind replace nothing within apostrophes and have no way to write one there;
 * Node also knows backticks. What needs no quotes gets none: `docker run --env-file` takes them for a part of the value.
 */
function dotenvValue(name: string, value: string): string {
  if (/^[\w.,:/@%+=~^-]+$/.test(value)) return value;
  const quote = ["'", '`'].find((candidate) => !value.includes(candidate));
  if (quote === undefined) throw projectionErrors.error('dotenv-unsayable', { name });
  return `${quote}${value}${quote}`;
}

/** a JSON string is one of YAML too; a container's `$(NAME)` is replaced, and `$$` is how a `$` is written (Container v1) */
function kubernetesValue(value: string): string {
  return JSON.stringify(value.replaceAll('$', '$$$$'));
}
