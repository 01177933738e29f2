/**
 * Run as a child process: loads the config that each request of its one argument (JSON) asks for, and prints the settings.
 */
import { loadConfig } from '../../packages/cli/dist/config/load-config.js';
import { resolveSettings } from '../../packages/cli/dist/config/resolve-settings.js';

const answers = [];
for (const request of JSON.parse(process.argv[2] ?? '[]')) {
  try {
    answers.push({ settings: resolveSettings({}, {}, await loadConfig(request)) });
  } catch (error) {
    const { name, code, message, hint } = error;
    answers.push({ thrown: { name, code, message, hint } });
  }
}
process.stdout.write(JSON.stringify(answers));
