import { DependsOn, Job, type JobContext } from '@flowline/core';

export interface Order {
  readonly order: string;
  readonly cents: number;
}

@Job({ id: 'send-invoice', maxActiveRuns: 20 })
export class RenderInvoice {
  async run(ctx: JobContext<Order>) {
    const { order, cents } = ctx.params;
    return `Invoice for ${order}: ${(cents / 100).toFixed(2)} EUR`;
  }
}

@Job({ retry: { attempts: 5, backoff: { type: 'exponential', delay: '1s', jitter: 'full' } } })
@DependsOn(RenderInvoice)
export class MailInvoice {
  async run(ctx: JobContext, invoice: string) {
    // Hand ctx.idempotencyKey to the mail service: it is the same for every attempt of this task.
    ctx.log.info(`would mail "${invoice}" under the key ${ctx.idempotencyKey}`);
  }
}
