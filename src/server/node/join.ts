import type { StartInput } from "../../boot/running.ts"
import { delay, systemClock } from "../../kernel/clock.ts"
import { randomToken, systemRandom } from "../../kernel/crypto/random.ts"
import { fingerprint, type Secrets } from "../../kernel/crypto/secret.ts"
import {
  loadPostgres,
  type OpenOptions,
  openNode,
  openSharedKeyring,
  type Store,
} from "../../store/index.ts"
import type { Readiness } from "../background/readiness.ts"

type JoinParts = { readonly readiness: Readiness; readonly options: OpenOptions }

const unavailableText = "the log in PostgreSQL is not available"
const createNodeId = () => randomToken(systemRandom, 16)

/** Opens the data directory of a node; resolves when it has the whole log. */
export async function joinStore(
  { master, url }: Pick<StartInput, "master"> & { readonly url: string },
  { readiness, options }: JoinParts,
): Promise<{ readonly store: Store; readonly secrets: Secrets }> {
  const { openPostgresLog } = await loadPostgres()
  const store = await openNode(options, {
    fresh: createNodeId,
    sleep: delay,
    now: () => performance.now(),
    clock: systemClock,
    lost: (cause) => readiness.reportProblem(unavailableText, cause),
    found: () => readiness.clearProblem(unavailableText),
    connect: (belonging) =>
      openPostgresLog({
        ...belonging,
        url,
        fresh: createNodeId,
        clock: systemClock,
        fingerprint: fingerprint(master),
      }),
  })
  try {
    if (!store.node) throw new Error("the store has no shared log")
    const random = systemRandom
    return { store, secrets: await openSharedKeyring(store, store.node, { random, master }) }
  } catch (cause) {
    await store.close()
    throw cause
  }
}
