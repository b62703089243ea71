import { write } from "node:fs"
import { promisify } from "node:util"
import { delay } from "../../kernel/clock.ts"
import { startError, systemCode } from "../start-error.ts"

const writeSome = promisify(write)

/** Writes to standard output, which can be a pipe whose reader is slow or ends early. */
export async function writeStandardOutput(bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += (await writeSome(1, bytes, at, bytes.length - at)).bytesWritten
    } catch (cause) {
      if (systemCode(cause) === "EPIPE") throw outputClosedError(cause)
      if (systemCode(cause) !== "EAGAIN") throw cause
      await delay(10)
    }
  }
}

const outputClosedError = (cause: unknown) =>
  startError(
    "output_gone",
    "the program that reads standard output ended before the backup was complete",
    cause,
  )
