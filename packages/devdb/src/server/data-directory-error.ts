/** A data directory that cannot be used; the message is a sentence for people. */
export class DataDirectoryError extends Error {
  override readonly name = 'DataDirectoryError';
}
