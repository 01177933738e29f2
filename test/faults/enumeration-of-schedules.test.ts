import { walk } from './walk.js';

walk([
  'deploy',
  'trigger',
  'misfire',
  'leader tick',
  'admission',
  'refusal',
  'backfill',
  'pause',
  'prune',
]);
