/** The stage of a file: a database of its own with scenes on it, and the connection that processes of the test share. */
import { type SharedConnection, shareConnection } from '@flowline/core/testing';
import { afterAll, beforeAll } from 'vitest';
import { Bench } from '../store/scheduling.js';
import { Scenes } from './scenes.js';

export interface Stage {
  readonly scenes: Scenes;
  readonly connection: SharedConnection;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage & { readonly bench: Bench }> {
  const bench = await Bench.open();
  const connection = await shareConnection(bench.connection);
  return {
    bench,
    scenes: new Scenes(bench),
    connection,
    async close() {
      await connection.close();
      await bench.close();
    },
  };
}

/** One for all tests of the file; to be asked for inside of them. */
export function useStage(): () => Stage {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.close());
  return () => stage;
}
