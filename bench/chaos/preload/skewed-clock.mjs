/**
 * `node --import .../skewed-clock.mjs`: the wall clock of this process and of its threads is off by CLOCK_OFFSET_MS. Timers
 * and monotonic clocks are right, as on a machine whose time was set wrongly.
 */
const offsetMs = Number(process.env.CLOCK_OFFSET_MS ?? 0);
if (!Number.isFinite(offsetMs))
  throw new Error(`CLOCK_OFFSET_MS: expected milliseconds, found ${process.env.CLOCK_OFFSET_MS}`);

if (offsetMs !== 0) {
  const RealDate = Date;
  const now = () => RealDate.now() + offsetMs;
  const SkewedDate = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [now()] : args,
        newTarget === SkewedDate ? target : newTarget,
      ),
    apply: () => new RealDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
  RealDate.prototype.constructor = SkewedDate;
  globalThis.Date = SkewedDate;
  const { timeOrigin } = performance;
  Object.defineProperty(performance, 'timeOrigin', { value: timeOrigin + offsetMs });
}
