/** How much longer than usual things may take: FLOW_TEST_PATIENCE=4 for a machine that does much else. */
export const patience = Number(process.env.FLOW_TEST_PATIENCE ?? 1);

/**
 * Resolves with the first value that is neither false nor null nor undefined; rejects with `what` after the deadline. That is
 * for what never comes: how soon something comes is no test's business, so a short one only fails on a slow machine.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | false | null | undefined> | T | false | null | undefined,
  deadlineMs = 90_000,
): Promise<T> {
  const end = performance.now() + deadlineMs * patience;
  for (;;) {
    const value = await probe();
    if (value !== false && value !== null && value !== undefined) return value;
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A promise that the test settles itself. */
export function gate<T = void>(): { readonly opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
