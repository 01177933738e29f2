/** Run as a child process: loads the config of its working directory (or the one named) and prints the settings. */
import { loadConfig } from '../../packages/cli/dist/config/load-config.js';
import { resolveSettings } from '../../packages/cli/dist/config/resolve-settings.js';

let answer;
try {
  const loaded = await loadConfig({ cwd: process.cwd(), path: process.argv[2] });
  answer = { settings: resolveSettings({}, {}, loaded) };
} catch (error) {
  const { name, code, message, hint } = error;
  answer = { thrown: { name, code, message, hint } };
}
process.stdout.write(JSON.stringify(answer));
