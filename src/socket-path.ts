// How long the path of a unix socket may be. Must not know whose socket it is.

/** sun_path has 108 bytes on Linux, 104 on macOS, with a final NUL (unix(7)) */
export const maxSocketPathBytes = process.platform === 'linux' ? 107 : 103;
