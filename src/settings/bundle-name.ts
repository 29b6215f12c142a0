// What bundles are called, between the volume file of an actor and the allowlist of its deployment. Pure.
import type { TextRule } from './kubernetes-names.ts';

const name = /^[a-zA-Z0-9](?:[-._a-zA-Z0-9]{0,251}[a-zA-Z0-9])?$/;

export const bundleNameRule: TextRule = {
  isRight: (text) => name.test(text),
  expected: 'a bundle name of letters, digits, hyphens, dots and underscores, at most 253',
  example: 'egress-mitm',
};
