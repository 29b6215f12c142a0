// What joins the two halves of trust delivery. Must not know backends, formats or folders.
import type { Pem } from '../x509/certificate-types.ts';

/** What the resolver hands to a writer: a path as the volume file names it, and the certificates that belong there. */
export type TrustFile = { readonly path: string; readonly pemBundle: Pem };
