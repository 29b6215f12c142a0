// Text that was meant to be a URL, made fit to be shown: whatever stands where a user name and a password may is gone,
// also in text that no parser takes. Pure.

export function withoutCredentials(text: string): string {
  return text.replace(/^([^/?#]*\/\/)?[^/?#]*@/, '$1');
}
