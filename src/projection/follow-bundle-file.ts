// A bundle in a file, such as a kubelet's ClusterTrustBundle volume: followed by looking, so that it may be swapped by a
// symlink, replaced, written slowly, be away for a while, or have its folder appear later. An edge.
import { millis, type Clock } from '../clock.ts';
import { isSameContent, readRegularFile, type FileContent } from '../read-regular-file.ts';
import { x509Errors } from '../x509/x509-errors.ts';
import { pendingState, type Backing, type BackingState } from './backing.ts';
import { bundleErrors } from './bundle-errors.ts';
import { maxBackingBytes } from './sanitise-bundle.ts';
import { followSettled } from '../follow-settled.ts';

/** with the confirming look a change is taken within half a second of its end */
const lookEvery = millis(250);

export type FollowedBundleFile = { readonly path: string; readonly clock: Clock; readonly changed: () => void };

export function followBundleFile({ path, clock, changed }: FollowedBundleFile): Backing {
  let state = pendingState;
  const looks = followSettled<FileContent>({
    ...{ clock, isSame: isSameContent, lookAgainAfter: () => lookEvery },
    look: () => readRegularFile(path, maxBackingBytes),
    settled: (content) => {
      state = stateOf(content, path);
      changed();
    },
  });
  return { state: () => state, close: () => looks.close() };
}

function stateOf(content: FileContent, path: string): BackingState {
  switch (content.kind) {
    case 'bytes':
      return { kind: 'texts', texts: [{ source: path, text: content.bytes }] };
    case 'too-large': {
      const error = x509Errors.error('pem-too-large', { source: path, limit: `${maxBackingBytes} bytes` });
      return { kind: 'failed', cause: 'too-large', error };
    }
    case 'unreadable': {
      const { isMissing, reason } = content;
      if (isMissing === true) {
        return { kind: 'failed', cause: 'missing-object', error: bundleErrors.error('bundle-file-missing', { path }) };
      }
      const error = bundleErrors.error('bundle-file-unreadable', { path, reason });
      return { kind: 'failed', cause: 'unavailable', error };
    }
    default:
      return content satisfies never;
  }
}
