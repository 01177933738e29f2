import { walk } from './walk.js';

walk([
  'claim',
  'heartbeat',
  'finish',
  'fan-in',
  'failure',
  'retry',
  'rerun',
  'cancel',
  'rescue',
  'drain',
]);
