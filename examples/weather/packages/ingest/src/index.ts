export type { Observation } from './table.js';
export { Extract, Validate, Weather, type WeatherParams, type Week } from './weather.job.js';
