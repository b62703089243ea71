// Nodes of a test: stores whose log is in PostgreSQL.
import { pause, systemClock } from "../../src/kernel/clock.ts"
import type { OpenOptions } from "../../src/store/index.ts"
import { openNode } from "../../src/store/open.ts"
import { openPostgresLog } from "../../src/store/shared/postgres-log.ts"
import type { Store } from "../../src/store/store.ts"
import { modules } from "./account.ts"

type Parts = Partial<OpenOptions> & {
  readonly url: string
  readonly file: string
  readonly fingerprint?: string
  readonly folder?: string
  readonly lost?: (cause: unknown) => void
  readonly timeoutMs?: number
}

const unexpected = (cause: unknown) => {
  throw cause
}

const fresh = () => crypto.randomUUID()

/** Opens a file as that of a node. */
export const openTestNode = (parts: Parts): Promise<Store> =>
  openNode(
    { ...modules, fatal: unexpected, notReady: (_, cause) => unexpected(cause), ...parts },
    {
      connect: (belonging) =>
        openPostgresLog({
          ...belonging,
          url: parts.url,
          ...(parts.folder !== undefined && { folder: parts.folder }),
          fingerprint: parts.fingerprint ?? "key",
          fresh,
          clock: systemClock,
          ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
        }),
      fresh,
      sleep: pause,
      now: () => performance.now(),
      clock: systemClock,
      lost: parts.lost ?? (() => undefined),
      found: () => undefined,
    },
  )
