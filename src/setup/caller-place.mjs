// What npm changed for its script, taken back: the folder and the environment that whoever called npm has. A command under
// `leafgate run` must see those, and relative paths of options are the caller's. Pure but for one look at real paths.
import { realpathSync } from 'node:fs';
import { delimiter, join, sep } from 'node:path';

/**
 * What npm sets in every script, by its own code (@npmcli/config lib/set-envs.js, @npmcli/run-script, npm lib/npm.js), and
 * what our .npmrc and package.json make it set. Other `npm_config_*` (registry, proxy, cafile, …) stay: they may be the
 * caller's own, and nothing tells.
 */
const setByNpm =
  /^(?:npm_(?:lifecycle|package)_.*|npm_command|npm_execpath|npm_node_execpath|npm_config_(?:loglevel|local_prefix|prefix|global_prefix|globalconfig|init_module|node_gyp|noproxy|user_agent|userconfig|npm_version|cache|engine_strict|fund|audit|update_notifier|allow_scripts)|NODE|INIT_CWD|COLOR)$/;

/** `{ folder, env }` of the caller; as they are where it was not npm that started a script of the package in `root` */
export function callerPlace(env, root, folder) {
  if (env.npm_package_json === undefined || !isSameFile(env.npm_package_json, join(root, 'package.json'))) {
    return { folder, env };
  }
  const kept = Object.entries(env).filter(([name]) => !setByNpm.test(name));
  const own = Object.fromEntries(kept);
  if (own.PATH !== undefined) own.PATH = withoutNpmFolders(own.PATH);
  return { folder: env.INIT_CWD ?? folder, env: own };
}

/** npm puts `node_modules/.bin` of each folder up to / in front, and its node-gyp last; what follows is the caller's */
function withoutNpmFolders(path) {
  const folders = path.split(delimiter);
  const bin = `${sep}${join('node_modules', '.bin')}`;
  const firstOther = folders.findIndex((folder) => !folder.endsWith(bin));
  const isGyp = firstOther > 0 && folders[firstOther].endsWith(`${sep}node-gyp-bin`);
  return isGyp ? folders.slice(firstOther + 1).join(delimiter) : path;
}

function isSameFile(one, other) {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}
