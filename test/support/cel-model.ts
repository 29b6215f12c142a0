// The few CEL expressions that the generator makes of a request's host, in JavaScript: `re.extract` and a condition with
// `matches`. What it does not know it refuses, so that a new expression is noticed. RE2 and JavaScript agree on these.

const literal = String.raw`'((?:[^'\\]|\\.)*)'`;
const extraction = new RegExp(String.raw`^re\.extract\(request\.host(\.lowerAscii\(\))?, ${literal}, '\\\\1'\)$`);
const condition = new RegExp(String.raw`^request\.host\.matches\(${literal}\) \? (.+) : ${literal}$`);

/** `format`: one `%CEL(…)%` of `request.host` */
export function celOfHost(format: string, host: string): string {
  const expression = /^%CEL\((.*)\)%$/.exec(format)?.[1];
  if (expression === undefined) throw new Error(`no CEL: ${format}`);
  return evaluate(expression, host);
}

function evaluate(expression: string, host: string): string {
  const [, test, yes, no] = condition.exec(expression) ?? [];
  if (test !== undefined && yes !== undefined && no !== undefined) {
    return new RegExp(unescaped(test)).test(host) ? evaluate(yes, host) : unescaped(no);
  }
  const [, lowered, pattern] = extraction.exec(expression) ?? [];
  if (pattern === undefined) throw new Error(`an expression that the model does not know: ${expression}`);
  // `re.extract` of what does not match is an error in CEL, and the object is then empty
  return new RegExp(unescaped(pattern)).exec(lowered === undefined ? host : asciiLowered(host))?.[1] ?? '';
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, '$1');
}

function asciiLowered(text: string): string {
  return text.replace(/[A-Z]/g, (char) => char.toLowerCase());
}
