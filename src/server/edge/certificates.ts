import { type Certificate, readCertificates } from "../../boot/edge/certificate.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Config } from "../../kernel/config.ts"
import { Fault } from "../../kernel/fault.ts"
import { keepRounds } from "../background/round.ts"

const everyMs = 10_000

/** Where an operator reads what became of it. */
type Told = {
  readonly error: (words: string, values: Readonly<Record<string, unknown>>) => void
  readonly info: (words: string) => void
}

/**
 * Looks at the files of the certificates now and then, and presents what is new in them. What can't
 * be used is told once, and what was read before goes on serving: whoever renews them writes one
 * file after the other.
 */
export function keepCertificates(
  { clock, log }: { readonly clock: Clock; readonly log: Told },
  config: Pick<Config, "tlsCert" | "tlsKey">,
  {
    first,
    present,
  }: {
    readonly first: readonly Certificate[]
    readonly present: (certificates: readonly Certificate[]) => void
  },
) {
  let shown = JSON.stringify(first)
  let complaint = ""
  return keepRounds(clock, everyMs, async () => {
    const read = attempt(config)
    if (read instanceof Fault) {
      if (read.message === complaint) return
      complaint = read.message
      log.error("new certificates can't be used, the old ones go on: {complaint}", { complaint })
      return
    }
    complaint = ""
    const found = JSON.stringify(read)
    if (found === shown) return
    shown = found
    present(read)
    log.info("new certificates are in use")
  })
}

function attempt(config: Pick<Config, "tlsCert" | "tlsKey">): readonly Certificate[] | Fault {
  try {
    return readCertificates(config)
  } catch (cause) {
    if (cause instanceof Fault) return cause
    throw cause
  }
}
