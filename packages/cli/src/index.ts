/** What a `flow.config.ts` imports. */
export {
  defineConfig,
  type FlowConfig,
  type LogLevel,
  logLevels,
  type RunnerConfig,
} from './config/define-config.js';
export { main } from './main.js';
