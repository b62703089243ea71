import { type Certificate, readCertificates } from "../../boot/edge/certificate.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { startRepeating } from "../background/repeat.ts"

const intervalMs = 10_000

/** The log for the operator. */
type CertificateLog = {
  readonly error: (text: string, values: Readonly<Record<string, unknown>>) => void
  readonly info: (text: string) => void
}

/**
 * Checks the certificate files at intervals and uses new ones. Invalid files are logged once, and
 * the previous certificates stay in use, because renewals write the files one after another.
 */
export function watchCertificateFiles(
  { clock, log }: { readonly clock: Clock; readonly log: CertificateLog },
  config: Pick<Config, "tlsCert" | "tlsKey">,
  {
    first,
    present,
  }: {
    readonly first: readonly Certificate[]
    readonly present: (certificates: readonly Certificate[]) => void
  },
) {
  let currentKey = JSON.stringify(first)
  let complaint = ""
  return startRepeating(clock, intervalMs, async () => {
    const read = tryRead(config)
    if (read instanceof Fault) {
      if (read.message === complaint) return
      complaint = read.message
      log.error("the new certificates are invalid, the previous ones stay in use: {complaint}", {
        complaint,
      })
      return
    }
    complaint = ""
    const found = JSON.stringify(read)
    if (found === currentKey) return
    currentKey = found
    present(read)
    log.info("new certificates are in use")
  })
}

function tryRead(config: Pick<Config, "tlsCert" | "tlsKey">): readonly Certificate[] | Fault {
  try {
    return readCertificates(config)
  } catch (cause) {
    if (cause instanceof Fault) return cause
    throw cause
  }
}
