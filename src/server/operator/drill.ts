import type { Start } from "../../boot/running.ts"
import { instanceIds, removedInstances } from "../../domain/instance/index.ts"
import { signer, signingAlgorithms, verifyJwt } from "../../domain/key/index.ts"
import type { Cx } from "../../store/index.ts"
import { openServices } from "../services.ts"

/** What a drill has found to work. */
export type Drilled = { readonly instances: number; readonly signatures: number }

/**
 * Opens a data folder as a server would, without serving: compares every event, state and row of a
 * view with what they must be, and signs and verifies with every active key. Faults with what does
 * not fit.
 */
export async function drill(start: Start): Promise<Drilled> {
  const services = openServices(start, { isCopy: true })
  const { store } = services
  try {
    const gone = () => removedInstances(store).map(({ instance }) => instance)
    const damage = await store.inspect({ rest: 0, gone })
    if (damage) throw damage
    const instances = instanceIds(store)
    const signed = await Promise.all(instances.map((id) => tryKeys(services.call(id, "drill"))))
    return { instances: instances.length, signatures: signed.reduce((sum, each) => sum + each, 0) }
  } finally {
    await store.close()
  }
}

async function tryKeys(cx: Cx): Promise<number> {
  const algorithms = signingAlgorithms(cx)
  for (const algorithm of algorithms) {
    const typ = "drill"
    const exp = Math.floor(cx.clock.now() / 1000) + 60
    const token = await signer(cx, algorithm).sign({ exp }, typ)
    if (!verifyJwt(cx, token, { typ, algorithms: [algorithm] })) {
      throw new Error(`what a key of ${algorithm} signs can't be verified`)
    }
  }
  return algorithms.length
}
