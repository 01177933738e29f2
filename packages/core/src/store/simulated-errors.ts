/** Driver errors as a test throws them in place of an operation. */
import { MongoNetworkError, MongoServerError } from 'mongodb';

/** A connection that broke: the operation may have been applied or not, and the same call may work in a moment. */
export function passingDriverError(): Error {
  return new MongoNetworkError('simulated: the connection was cut');
}

/** A refusal that no repetition mends. */
export function lastingDriverError(): Error {
  return new MongoServerError({
    message: 'simulated: the server refuses',
    code: 2,
    codeName: 'BadValue',
  });
}
