import { UsageError } from '@flowline/core';

const sentences: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EEXIST: 'it exists already',
  EISDIR: 'there is a folder of that name',
  ENOENT: 'its folder does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is a file',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
};

/** Waits for something done to a file. Throws UsageError where the system refuses it, with the path and why. */
export async function orSayWhichFile<T>(path: string, doing: Promise<T>): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    throw fileFault(path, error);
  }
}

/** What the system's refusal of a path means to a user; another error is answered as it is. */
export function fileFault(path: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  return new UsageError(`${path} cannot be written: ${sentences[code] ?? code}`, { cause: error });
}
