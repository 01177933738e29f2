import { Job, type JobContext } from '@flowline/core';

@Job()
export class Hello {
  async run(ctx: JobContext) {
    ctx.log.info('Hello from Flowline');
    return { said: 'hello' };
  }
}
