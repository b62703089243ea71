import type { Start } from "../../boot/running.ts"
import { pause, systemClock } from "../../kernel/clock.ts"
import { randomToken, systemRandom } from "../../kernel/crypto/random.ts"
import { fingerprint, type Secrets } from "../../kernel/crypto/secret.ts"
import {
  type OpenOptions,
  openNode,
  postgres,
  type Store,
  shareKeyring,
} from "../../store/index.ts"
import type { Readiness } from "../background/readiness.ts"

type Ground = { readonly readiness: Readiness; readonly options: OpenOptions }

const what = "the log in PostgreSQL can't be followed"
const fresh = () => randomToken(systemRandom, 16)

/** Opens the data folder as that of a node; resolves when it has all of the log. */
export async function joinStore(
  { master, url }: Pick<Start, "master"> & { readonly url: string },
  { readiness, options }: Ground,
): Promise<{ readonly store: Store; readonly secrets: Secrets }> {
  const { openPostgresLog } = await postgres()
  const store = await openNode(options, {
    fresh,
    sleep: pause,
    now: () => performance.now(),
    clock: systemClock,
    lost: (cause) => readiness.broke(what, cause),
    found: () => readiness.mended(what),
    connect: (belonging) =>
      openPostgresLog({
        ...belonging,
        url,
        fresh,
        clock: systemClock,
        fingerprint: fingerprint(master),
      }),
  })
  try {
    if (!store.node) throw new Error("the store follows no log")
    const random = systemRandom
    return { store, secrets: await shareKeyring(store, store.node, { random, master }) }
  } catch (cause) {
    await store.close()
    throw cause
  }
}
