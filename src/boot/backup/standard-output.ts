import { write } from "node:fs"
import { promisify } from "node:util"
import { pause } from "../../kernel/clock.ts"
import { startError, systemCode } from "../start-error.ts"

const writeSome = promisify(write)

/** Standard output, which may be a pipe whose other end is slow or goes away. */
export async function standardOutput(bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += (await writeSome(1, bytes, at, bytes.length - at)).bytesWritten
    } catch (cause) {
      if (systemCode(cause) === "EPIPE") throw goneError(cause)
      if (systemCode(cause) !== "EAGAIN") throw cause
      await pause(10)
    }
  }
}

const goneError = (cause: unknown) =>
  startError("output_gone", "what reads standard output ended before the backup did", cause)
