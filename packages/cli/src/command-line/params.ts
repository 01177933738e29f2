import { OptionError } from '@flowline/core/time';

/**
 * The params of a run from `--params '{"day":"2012-07-04"}'` and `--param day=2012-07-04`; the single ones win. A value
 * of `--param` is JSON where it can be read as such, else text. Undefined when neither is given. Throws OptionError.
 */
export function parseParams(json: string | undefined, pairs: readonly string[]): unknown {
  if (json === undefined && pairs.length === 0) return undefined;
  const whole = json === undefined ? {} : parseJson(json);
  if (pairs.length === 0) return whole;
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) {
    throw new OptionError('--params', 'a JSON object, since --param adds to it', json);
  }
  // defineProperty, so that a param named __proto__ is a param and nothing else.
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new OptionError('--param', 'name=value', pair);
    Object.defineProperty(whole, pair.slice(0, at), {
      value: readValue(pair.slice(at + 1)),
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return whole;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new OptionError('--params', 'JSON', text, {
      hint: `${error instanceof Error ? error.message : String(error)}. Quote it for your shell: --params '{"day":"2012-07-04"}'`,
    });
  }
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
